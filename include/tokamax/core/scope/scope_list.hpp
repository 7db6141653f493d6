// tokamax/core/scope/scope_list.hpp: scopes as one table of text, for what outlives the graph.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/scope/named_scope.cpp
#pragma once

#include <tokamax/base/vec.hpp>  // vec

#include <string_view>  // string_view

namespace tokamax {

/// The text of a scope: the name of a part of a program, and the implementations that were chosen for it.
struct scope_view {
  std::string_view name{}, implementations{};
};

/// The place of one scope in the characters of a list: its name, followed by its implementations.
struct scope_range {
  int begin = 0, name_end = 0, end = 0;
};

/// Pointers to a list of scopes, growable or frozen.
struct scope_list_view {
  const scope_range* ranges = nullptr;
  const char* chars = nullptr;
  int count = 0;
  /// The scope of this number; 0 is the empty one.
  constexpr scope_view operator[](int number) const {
    if (number == 0) return {};
    const scope_range& r = ranges[number - 1];
    const auto part = [&](int from, int to) {
      return std::string_view(chars + from, static_cast<std::size_t>(to - from));
    };
    return {part(r.begin, r.name_end), part(r.name_end, r.end)};
  }
};

/// Different scopes, numbered from 1.
struct scope_list {
  vec<scope_range> ranges;
  vec<char> chars;

  constexpr scope_list_view view() const { return {ranges.data(), chars.data(), ranges.count()}; }
  /// The number of a scope, which is looked for among the first `known` ones.
  constexpr int find_or_add(scope_view s, int known) {
    if (s.name.empty() && s.implementations.empty()) return 0;
    const auto length = static_cast<int>(s.name.size()), all = length + static_cast<int>(s.implementations.size());
    for (int k = 0; k < known; ++k) {
      const scope_range& r = ranges[k];
      if (r.name_end - r.begin != length || r.end - r.begin != all) continue;
      const scope_view there = view()[k + 1];
      if (there.name == s.name && there.implementations == s.implementations) return k + 1;
    }
    const int begin = chars.count();
    for (const char c : s.name) chars.push_back(c);
    for (const char c : s.implementations) chars.push_back(c);
    ranges.push_back({begin, begin + length, begin + all});
    return ranges.count();
  }
};

}  // namespace tokamax
