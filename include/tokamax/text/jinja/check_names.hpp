// tokamax/text/jinja/check_names.hpp: filters and tests of a template that are not known, before it runs.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/filters.hpp>  // knows_filter
#include <tokamax/text/jinja/tree.hpp>     // node

namespace tokamax::text::jinja {

/// Refuses filters and tests that are not known, but for those in branches, which may not be reached.
inline void check_names(const node& n, const std::string& where) {
  const bool known = (n.is != node::kind::filter || knows_filter(n.name)) &&
                     (n.is != node::kind::test || find_test(n.name) != nullptr);
  if (!known)
    throw error(error_kind::file, std::string("chat template: ") + (n.is == node::kind::test ? "test" : "filter"),
                n.name, "one that is known", where + ":" + std::to_string(n.line));
  if (n.is == node::kind::choice) return;
  for (std::size_t i = 0; i < n.parts.size(); ++i)
    if (n.is != node::kind::branch || (i % 2 == 0 && i + 1 < n.parts.size())) check_names(n.parts[i], where);
}

}  // namespace tokamax::text::jinja
