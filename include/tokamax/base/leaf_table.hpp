// tokamax/base/leaf_table.hpp: a value of any type for each leaf of a tree, by path.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (programs that map leaves to other types include it)
#pragma once
#include <tokamax/base/tree.hpp>       // for_each_leaf_with_path
#include <tokamax/base/tree_path.hpp>  // call_on_leaf

#include <string>       // paths
#include <string_view>  // string_view
#include <utility>      // pair
#include <vector>       // vector

namespace tokamax {

/// Values for the leaves of one tree, in their order: what `tree_table` returns.
template <class T>
struct leaf_table {
  std::vector<std::pair<std::string, T>> rows;  ///< path and value

  std::size_t size() const { return rows.size(); }
  auto begin() const { return rows.begin(); }
  auto end() const { return rows.end(); }
  /// The value of the leaf with this path.
  /// errors  "leaf_table: path" if there is none
  const T& at(std::string_view path) const {
    for (const auto& [known, value] : rows)
      if (known == path) return value;
    throw error("leaf_table: path", std::string(path), "a leaf's path");
  }
};

/// A value of any type for each leaf, computed by `f(path, leaf)`, `f(leaf)` or `f(path)`. The fields of a struct have
/// fixed types, so a struct of arrays cannot hold a text or a flag in place of each array; a table can. Use the path to
/// find the value of a leaf:
/// `tree_map_with_path([&](std::string_view path, const array& a) { return a * table.at(path); }, tree)`.
/// source  jax.tree_util.tree_flatten_with_path, after a tree_map
template <class T, class F, class Tree>
leaf_table<T> tree_table(const F& f, const Tree& tree) {
  leaf_table<T> table;
  for_each_leaf_with_path([&](std::string_view path,
                              const auto& leaf) { table.rows.emplace_back(path, detail::call_on_leaf(f, path, leaf)); },
                          tree);
  return table;
}

}  // namespace tokamax
