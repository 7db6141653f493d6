// tokamax/core/scope_names.hpp: the names of the parts of a program, numbered.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/named_scope.cpp
#pragma once

#include <tokamax/base/vec.hpp>   // vec
#include <tokamax/core/type.hpp>  // message

#include <string_view>  // string_view

namespace tokamax {

/// The beginning of a scope's name that names implementations of ops: `{attention=compose|kernel}` (see
/// core/use_implementation.hpp). It is empty in most names.
constexpr std::string_view implementations_in(std::string_view scope) {
  return scope.starts_with('{') ? scope.substr(0, scope.find('}') + 1) : std::string_view();
}

/// The name of a scope within another one: `blocks[3]` and `attend` make `blocks[3].attend`. Implementations come first, those
/// of the inner scope before all others, so that a long name loses the end of its path and nothing else.
constexpr message joined_scope(std::string_view outer, std::string_view inner) {
  const std::string_view of_inner = implementations_in(inner), of_outer = implementations_in(outer);
  message whole;
  if (!of_inner.empty() && !of_outer.empty())
    whole << of_inner.substr(0, of_inner.size() - 1) << ';' << of_outer.substr(1);
  else
    whole << of_inner << of_outer;
  const std::string_view around = outer.substr(of_outer.size()), path = inner.substr(of_inner.size());
  whole << around;
  if (!around.empty() && !path.empty()) whole << '.';
  return whole << path;
}

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
