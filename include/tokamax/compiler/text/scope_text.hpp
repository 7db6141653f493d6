// tokamax/compiler/text/scope_text.hpp: the scopes of a graph's nodes as text: ` in blocks[3].attend using attention=compose`.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/scope/named_scope.cpp
#pragma once

#include <tokamax/compiler/text/attribute_text.hpp>  // quoted
#include <tokamax/core/graph.hpp>                    // graph
#include <tokamax/core/scope/scope_list.hpp>         // scope_view

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <string>  // string

namespace tokamax::detail {

/// Can a name stand in a text as it is? Others stand in quotes.
inline bool is_plain_name(std::string_view name) {
  if (name.starts_with('"')) return false;
  for (const char c : name)
    if (static_cast<unsigned char>(c) <= ' ' || c == '\\' || c == '\x7f') return false;
  return true;
}
/// A name as it stands between quotes: quotes, backslashes and the ends of lines have a backslash before them.
inline void append_escaped(std::string& s, std::string_view name) {
  for (const char c : name) {
    if (c == '"' || c == '\\' || c == '\n') s += '\\';
    s += c == '\n' ? 'n' : c;
  }
}
inline void append_scope(std::string& s, scope_view scope) {
  if (!scope.name.empty()) {
    s += " in ";
    if (is_plain_name(scope.name))
      s += scope.name;
    else
      s += quoted(scope.name);
  }
  if (!scope.implementations.empty()) s.append(" using ").append(scope.implementations);
}
inline void append_scope(std::string& s, const graph& g, const node& n) {
  const name_text name = g.name_of(n);
  append_scope(s, {name, g.decided.implementations(n.scope.decisions)});
}

}  // namespace tokamax::detail
#endif
