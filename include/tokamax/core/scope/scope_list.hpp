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
  constexpr int find_or_add(scope_view s) {
    if (s.name.empty() && s.implementations.empty()) return 0;
    const scope_list_view known = view();
    for (int k = 1; k <= known.count; ++k)
      if (known[k].name == s.name && known[k].implementations == s.implementations) return k;
    scope_range r{chars.count(), chars.count() + static_cast<int>(s.name.size()), 0};
    for (const char c : s.name) chars.push_back(c);
    for (const char c : s.implementations) chars.push_back(c);
    r.end = chars.count();
    ranges.push_back(r);
    return ranges.count();
  }
};

}  // namespace tokamax
