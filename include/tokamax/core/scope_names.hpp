// tokamax/core/scope_names.hpp: the names of the parts of a program, numbered.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/named_scope.cpp
#pragma once

#include <tokamax/base/vec.hpp>   // vec
#include <tokamax/core/type.hpp>  // text

#include <string_view>  // string_view

namespace tokamax {

/// Names such as `blocks[3].attend`, numbered from 1 (see core/named_scope.hpp).
struct scope_names : vec<message> {
  using vec<message>::vec;
  /// The number of a name; 0 if it is empty.
  constexpr int find_or_add(std::string_view name) {
    if (name.empty()) return 0;
    for (int k = 0; k < count(); ++k)
      if (data()[k].view() == name) return k + 1;
    push_back(name);
    return count();
  }
  /// Reads ` in blocks[3].attend` from a graph's text at position `at`, and returns the number of the name. If the text
  /// does not go on like that, the result is 0 and `at` stays.
  constexpr int read(std::string_view line, std::size_t& at) {
    if (!line.substr(at).starts_with(" in ")) return 0;
    const std::size_t begin = at + 4, end = line.find('\n', begin);
    at = end == std::string_view::npos ? line.size() : end;
    return find_or_add(message(line.substr(begin, at - begin)).view());
  }
  constexpr std::string_view name(int number) const {
    return number == 0 ? std::string_view() : data()[number - 1].view();
  }
};

}  // namespace tokamax
