// tokamax/core/partition.hpp: split a tree in two by the paths of its leaves, and put it together again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree.hpp>       // tree_map_with_path
#include <tokamax/base/tree_path.hpp>  // matching
#include <tokamax/core/array.hpp>      // array

#include <utility>  // pair

namespace tokamax {

/// Stands where an array was taken out of a tree. It has no elements and no floating dtype: gradients and optimisers
/// leave it alone, and traces and checkpoints carry it like any other.
constexpr array absent() { return array(0.0, {bool_, false, {0}}); }
constexpr bool is_absent(const array& a) { return a.dtype() == bool_ && a.rank() == 1 && a.extent(0) == 0; }

/// `tree` with the arrays that `chosen` wants, which is a function of path and array, of the path or of the array, such as
/// `matching("*.bias")`; in the place of the others nothing.
/// source  equinox.filter
template <class Tree, class Predicate>
constexpr Tree filter(const Tree& tree, const Predicate& chosen) {
  Tree result = copy_tree(tree);
  const auto keep = [&](std::string_view path, auto& leaf) {
    if (!detail::call_on_leaf(chosen, path, static_cast<const array&>(leaf))) static_cast<array&>(leaf) = absent();
  };
  if constexpr (std::is_invocable_v<const Predicate&, const array&>)
    for_each_leaf([&](auto& leaf) { keep({}, leaf); }, result);
  else
    for_each_leaf_with_path(keep, result);
  return result;
}

/// The arrays that `chosen` wants, and the others, each as a tree like `tree`. A gradient with respect to the first alone:
///
///   const auto parts = partition(model, matching("blocks[*].adapter"));
///   grad([&](const auto& trained) { return loss(combine(trained, parts.second), batch); })(parts.first)
///
/// source  equinox.partition
template <class Tree, class Predicate>
constexpr std::pair<Tree, Tree> partition(const Tree& tree, const Predicate& chosen) {
  std::pair<Tree, Tree> result{filter(tree, chosen), copy_tree(tree)};
  for_each_leaf(
      [](auto& other, const array& kept) {
        if (!is_absent(kept)) static_cast<array&>(other) = absent();
      },
      result.second, result.first);
  return result;
}

/// The tree whose arrays are those of `first`, and where these were taken out those of `second`.
/// source  equinox.combine
template <class Tree>
constexpr Tree combine(const Tree& first, const Tree& second) {
  Tree result = copy_tree(first);
  for_each_leaf(
      [](auto& a, const array& b) {
        if (is_absent(a)) static_cast<array&>(a) = b;
      },
      result, second);
  return result;
}

}  // namespace tokamax
