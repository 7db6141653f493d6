// tokamax/base/tree/tree_structure.hpp: takes a tree apart into its structure and its leaves, and puts it together again.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <tokamax/base/tree.hpp>  // for_each_leaf

#include <cstddef>      // size_t
#include <iterator>     // size
#include <type_traits>  // remove_cvref_t
#include <utility>      // pair

namespace tokamax {

/// All of a tree except its leaves: its type, its static values, its lengths, and which optionals, alternatives and keys
/// it has.
template <class Tree>
class tree_structure_of {
 public:
  constexpr explicit tree_structure_of(const Tree& tree) : like_(copy_tree(tree)) {
    for_each_leaf(
        [&](auto& leaf) {
          leaf = std::remove_cvref_t<decltype(leaf)>();
          ++count_;
        },
        like_);
  }
  constexpr std::size_t num_leaves() const { return count_; }
  constexpr bool operator==(const tree_structure_of& other) const { return same_static(like_, other.like_); }
  /// The tree with these leaves, in their order.
  /// errors  "tree_unflatten: leaves" if there are fewer or more
  template <class Leaves>
  constexpr Tree unflatten(const Leaves& leaves) const {
    if (static_cast<std::size_t>(std::size(leaves)) != count_)
      throw error("tree_unflatten: leaves", std::to_string(std::size(leaves)), std::to_string(count_));
    Tree tree = copy_tree(like_);
    auto next = std::begin(leaves);
    for_each_leaf([&](auto& leaf) { detail::put(leaf, *next++); }, tree);
    return tree;
  }

 private:
  Tree like_;
  std::size_t count_ = 0;
};

/// source  jax.tree_util.tree_structure
template <class Tree>
constexpr tree_structure_of<Tree> tree_structure(const Tree& tree) {
  return tree_structure_of<Tree>(tree);
}
/// source  jax.tree_util.tree_unflatten; errors: "tree_unflatten: leaves" if there are fewer or more than in the structure
template <class Tree, class Leaves>
constexpr Tree tree_unflatten(const tree_structure_of<Tree>& structure, const Leaves& leaves) {
  return structure.unflatten(leaves);
}
/// The leaves of a tree, appended to a `Sink`, and its structure: `auto [leaves, structure] = tree_flatten<arrays>(model)`.
/// source  jax.tree_util.tree_flatten
template <class Sink, class Tree>
constexpr std::pair<Sink, tree_structure_of<Tree>> tree_flatten(const Tree& tree) {
  return {tree_leaves<Sink>(tree), tree_structure_of<Tree>(tree)};
}

}  // namespace tokamax
