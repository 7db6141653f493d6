// tokamax/core/partition.hpp: split a tree in two by the paths of its leaves, and put it together again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree.hpp>         // for_each_leaf, for_each_leaf_with_path
#include <tokamax/core/leaf_filter.hpp>  // filter_in
#include <tokamax/core/op.hpp>           // reject

#include <type_traits>  // is_integral_v, is_invocable_v
#include <utility>      // pair, as_const

namespace tokamax {

/// Takes the place of an array that was removed from a tree. It has no elements and is not floating, so gradients and
/// optimisers ignore it, while traces and checkpoints carry it like any other array.
constexpr array absent() { return array(0.0, {bool_, false, {0}}); }
constexpr bool is_absent(const array& a) { return a.dtype() == bool_ && a.rank() == 1 && a.extent(0) == 0; }

/// Says that a filter may select nothing: `partition(tree, chosen, allow_none)`.
struct allow_none_tag {};
inline constexpr allow_none_tag allow_none{};

/// A copy of `tree` that keeps the arrays which `chosen` selects; `absent()` takes the place of the others. `chosen` is a
/// function of path and array, of the path, or of the array, such as `matching("*.bias")`, or a filter (leaf_filter.hpp).
/// source  equinox.filter
template <class Tree, class Predicate>
constexpr Tree filter(const Tree& tree, const Predicate& chosen) {
  Tree result = copy_tree(tree);
  const auto selects = filter_in(chosen, tree);
  const auto keep = [&](std::string_view path, auto& leaf) {
    if (!detail::call_on_leaf(selects, path, std::as_const(leaf))) static_cast<array&>(leaf) = absent();
  };
  if constexpr (std::is_invocable_v<decltype(selects)&, const array&>)
    for_each_leaf([&](auto& leaf) { keep({}, leaf); }, result);
  else
    for_each_leaf_with_path(keep, result);
  return result;
}

/// The arrays that `chosen` selects and the others, each as a tree like `tree`. For example, this is a gradient with
/// respect to the first ones only:
///
///   const auto parts = partition(model, matching("blocks[*].adapter"));
///   grad([&](const auto& trained) { return loss(combine(trained, parts.second), batch); })(parts.first)
///
/// errors  "partition: filter" if it selects nothing, as a mistyped path does, unless `allow_none` is given
/// source  equinox.partition
template <class Tree, class Predicate>
  requires(!std::is_integral_v<Predicate>)  // with a number it is NumPy's function of the same name
constexpr std::pair<Tree, Tree> partition(const Tree& tree, const Predicate& chosen,
                                          source_line l = source_line::current()) {
  std::pair<Tree, Tree> result = partition(tree, chosen, allow_none);
  if (tree_all([](const array& a) { return is_absent(a); }, result.first))
    reject(nullptr, l, "partition: filter", "one that selects no leaf", "at least one, or allow_none");
  return result;
}
template <class Tree, class Predicate>
constexpr std::pair<Tree, Tree> partition(const Tree& tree, const Predicate& chosen, allow_none_tag) {
  std::pair<Tree, Tree> result{filter(tree, chosen), copy_tree(tree)};
  for_each_leaf(
      [](auto& other, const array& kept) {
        if (!is_absent(kept)) static_cast<array&>(other) = absent();
      },
      result.second, result.first);
  return result;
}

/// The tree with the arrays of `first`, and with those of `second` where `first` has none.
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
