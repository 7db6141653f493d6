// tokamax/text/jinja/scope.hpp: the names that a part of a template sees.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/value.hpp>  // value

namespace tokamax::text::jinja {

/// Names and their values within a part of a template, and what stands around it.
struct scope {
  std::shared_ptr<scope> around;
  std::vector<std::pair<std::string_view, value>> names{};

  value* find(std::string_view name) {
    for (auto& [n, v] : names)
      if (n == name) return &v;
    return nullptr;
  }
  void set(std::string_view name, value v) {
    value* old = find(name);
    old ? void(*old = std::move(v)) : void(names.emplace_back(name, std::move(v)));
  }
};

}  // namespace tokamax::text::jinja
