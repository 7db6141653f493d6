// tokamax/base/tree/tree_path.hpp: leaves chosen by their paths.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstddef>      // size_t
#include <string_view>  // string_view
#include <type_traits>  // is_invocable_v

namespace tokamax {

/// Does a path such as `blocks[3].attend.qkv.kernel` match a pattern? A `*` stands for any characters, and everything
/// else for itself. A pattern that names a node matches all leaves below it. So `blocks`, `blocks[3].attend`,
/// `blocks[*].attend`, `*.qkv.*` and `*.kernel` match this path, while `block` and `attend` do not.
constexpr bool path_matches(std::string_view path, std::string_view pattern) {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t at = 0, k = 0, star = none, resumed = 0;  // star: the last one; resumed: the end of what it covers
  while (true) {
    if (k < pattern.size() && pattern[k] == '*') {
      star = k++;
      resumed = at;
    } else if (k == pattern.size() && (at == path.size() || path[at] == '.' || path[at] == '[')) {
      return true;
    } else if (k < pattern.size() && at < path.size() && pattern[k] == path[at]) {
      ++k;
      ++at;
    } else if (star != none && resumed < path.size()) {
      k = star + 1;
      at = ++resumed;
    } else {
      return false;
    }
  }
}

/// A predicate on paths: `matching("blocks[*].attend")`. It does not copy the text of the pattern.
struct matching {
  std::string_view pattern;
  constexpr explicit matching(std::string_view p) : pattern(p) {}
  constexpr bool operator()(std::string_view path) const { return path_matches(path, pattern); }
};

namespace detail {
/// Calls f with a path and a leaf, with a leaf or with a path, whichever it takes.
template <class F, class Leaf>
constexpr decltype(auto) call_on_leaf(const F& f, std::string_view path, const Leaf& leaf) {
  if constexpr (std::is_invocable_v<const F&, std::string_view, const Leaf&>)
    return f(path, leaf);
  else if constexpr (std::is_invocable_v<const F&, const Leaf&>)
    return f(leaf);
  else
    return f(path);
}
}  // namespace detail

}  // namespace tokamax
