// tokamax/base/tree.hpp: functions over all leaves of nested structs, tuples and sequences.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <tokamax/base/compiled_once.hpp>   // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/error.hpp>           // error
#include <tokamax/base/tree/copy_tree.hpp>  // copy_tree
#include <tokamax/base/tree/tree_walk.hpp>  // walk

#include <cstddef>      // size_t
#include <string>       // string
#include <string_view>  // string_view
#include <type_traits>  // remove_cvref_t, is_pointer_v
#include <utility>      // as_const, forward

namespace tokamax {

namespace detail {

[[noreturn]] void throw_structure(tree_kind kind, std::size_t found, std::size_t expected);
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void throw_structure(tree_kind kind, std::size_t found, std::size_t expected) {
  const char* const what = kind == tree_kind::sequence   ? "tree: length of a vector"
                           : kind == tree_kind::optional ? "tree: values of an optional"
                           : kind == tree_kind::variant  ? "tree: alternative of a variant"
                                                         : "tree: number of a key in a map";
  throw error(what, std::to_string(found), std::to_string(expected));
}
#endif

template <class F>
struct leaf_visitor {
  F& f;

  constexpr void leaf(const no_path&, auto&... leaves) { f(leaves...); }
  constexpr void leaf(const text_path& path, auto&... leaves) {
    const vec<char> text = path.chars();
    f(std::string_view(text.data(), text.size()), leaves...);
  }
  constexpr void constant(const auto&, auto&...) {}
  constexpr bool same_structure(const auto&, tree_kind kind, std::size_t expected, auto... others) {
    for (const std::size_t other : {expected, others...}) {
      if (other != expected) throw_structure(kind, other, expected);
    }
    return true;
  }
};

// Remembers the path of the first difference between two trees.
struct static_visitor {
  bool same = true;
  std::string* where = nullptr;

  constexpr void leaf(const auto&, const auto&...) {}
  template <class T>
  constexpr void constant(const auto& path, const T& a, const T& b) {
    if (same && !equal_static(a, b)) differ(path);
  }
  constexpr bool same_structure(const auto& path, tree_kind, std::size_t a, std::size_t b) {
    if (same && a != b) differ(path);
    return same;
  }
  constexpr void differ(const auto& path) {
    same = false;
    if constexpr (requires { path.text(); }) *where = path.text();
  }
};

}  // namespace detail

/// Calls `f(leaf, rest_leaf...)` for every leaf of `tree`, in the order of declaration. `rest` are trees of the same
/// structure, which are walked together with it; where `tree` has a leaf, they may hold anything.
/// errors  vectors of different lengths, an optional with and one without a value, variants or maps that differ
template <class F, class Tree, class... Rest>
constexpr void for_each_leaf(F&& f, Tree&& tree, Rest&&... rest) {
  detail::leaf_visitor<std::remove_reference_t<F>> visitor{f};
  detail::walk(visitor, detail::no_path{}, tree, rest...);
}

/// Calls `f(path, leaf)` for every leaf, with a path such as `model.blocks[3].attend.qkv` under the name `root`.
template <class F, class Tree>
constexpr void for_each_leaf_with_path(F&& f, Tree&& tree, std::string_view root = {}) {
  detail::leaf_visitor<std::remove_reference_t<F>> visitor{f};
  detail::walk(visitor, detail::text_path(root), tree);
}

namespace detail {
template <class F>
struct record_visitor {
  F& f;

  template <class Record>
  constexpr void record(const text_path& path, Record& it) {
    if constexpr (!requires { fields_of<std::remove_cv_t<Record>>::positional; }) {
      const vec<char> text = path.chars();
      f(std::string_view(text.data(), text.size()), it);
    }
  }
  constexpr void leaf(const auto&, auto&) {}
  constexpr void constant(const auto&, auto&) {}
  constexpr bool same_structure(const auto&, tree_kind, std::size_t) { return true; }
};
}  // namespace detail

/// Calls `f(path, record)` for every struct of `tree`, such as the layers of a model, before those within it.
/// source  flax.nnx.iter_modules
template <class F, class Tree>
constexpr void for_each_record_with_path(F&& f, Tree&& tree, std::string_view root = {}) {
  detail::record_visitor<std::remove_reference_t<F>> visitor{f};
  detail::walk(visitor, detail::text_path(root), tree);
}

/// Calls `f(path, leaf, rest_leaf...)`; `rest` as in `for_each_leaf`.
template <class F, class Tree, class First, class... Rest>
  requires(!std::is_convertible_v<First, std::string_view>)
constexpr void for_each_leaf_with_path(F&& f, Tree&& tree, First&& first, Rest&&... rest) {
  detail::leaf_visitor<std::remove_reference_t<F>> visitor{f};
  detail::walk(visitor, detail::text_path(""), tree, first, rest...);
}

namespace detail {
template <class Tree>
constexpr std::remove_cvref_t<Tree> copy_or_move(Tree&& tree) {
  if constexpr (std::is_rvalue_reference_v<Tree&&> && !std::is_const_v<std::remove_reference_t<Tree>>)
    return std::move(tree);
  else
    return copy_tree(tree);
}
template <class Leaf, class Value>
constexpr void put(Leaf& leaf, Value&& value) {
  if constexpr (requires { leaf = std::forward<Value>(value); })
    leaf = std::forward<Value>(value);
  else  // a leaf of another type, such as an array for a key
    leaf = Leaf(std::forward<Value>(value));
}
}  // namespace detail

/// A copy of `tree` with each leaf replaced by `f(leaf, rest_leaf...)`; `rest` as in `for_each_leaf`.
template <class F, class Tree, class... Rest>
  requires(!std::is_arithmetic_v<F>)  // tree_map<bool>(f, tree) is another function
constexpr std::remove_cvref_t<Tree> tree_map(F&& f, Tree&& tree, Rest&&... rest) {
  std::remove_cvref_t<Tree> result = detail::copy_or_move(std::forward<Tree>(tree));
  for_each_leaf(
      [&](auto& leaf, auto&... others) { detail::put(leaf, f(std::as_const(leaf), std::as_const(others)...)); }, result,
      rest...);
  return result;
}

/// The same with `f(path, leaf, rest_leaf...)`.
/// source  jax.tree_util.tree_map_with_path
template <class F, class Tree, class... Rest>
  requires(!std::is_arithmetic_v<F>)  // tree_map<bool>(f, tree) is another function
constexpr std::remove_cvref_t<Tree> tree_map_with_path(F&& f, Tree&& tree, Rest&&... rest) {
  std::remove_cvref_t<Tree> result = detail::copy_or_move(std::forward<Tree>(tree));
  for_each_leaf_with_path(
      [&](std::string_view path, auto& leaf, auto&... others) {
        detail::put(leaf, f(path, std::as_const(leaf), std::as_const(others)...));
      },
      result, rest...);
  return result;
}

/// Combines the leaves from the first one on: f(f(initial, first leaf), second leaf) and so on.
/// source  jax.tree_util.tree_reduce
template <class F, class Tree, class Value>
constexpr Value tree_reduce(F&& f, const Tree& tree, Value initial) {
  for_each_leaf([&](const auto& leaf) { initial = f(std::move(initial), leaf); }, tree);
  return initial;
}
/// Does `f(leaf, rest_leaf...)` hold for all leaves?
/// source  jax.tree_util.tree_all of a tree_map
template <class F, class Tree, class... Rest>
constexpr bool tree_all(F&& f, const Tree& tree, const Rest&... rest) {
  bool all = true;
  for_each_leaf([&](const auto&... leaves) { all = all && f(leaves...); }, tree, rest...);
  return all;
}
/// Does `f(leaf, rest_leaf...)` hold for at least one leaf?
template <class F, class Tree, class... Rest>
constexpr bool tree_any(F&& f, const Tree& tree, const Rest&... rest) {
  return !tree_all([&](const auto&... leaves) { return !f(leaves...); }, tree, rest...);
}

/// The number of leaves.
template <class Tree>
constexpr std::size_t count_leaves(Tree&& tree) {
  std::size_t count = 0;
  for_each_leaf([&](const auto&) { ++count; }, tree);
  return count;
}

/// Appends the leaves of `tree` to `sink`: their addresses if it holds pointers, and copies otherwise.
template <class Sink, class Tree>
constexpr Sink tree_leaves(Tree&& tree, Sink sink = {}) {
  for_each_leaf(
      [&](auto& leaf) {
        if constexpr (std::is_pointer_v<typename Sink::value_type>) {
          sink.push_back(&leaf);
        } else {
          sink.push_back(leaf);
        }
      },
      tree);
  return sink;
}

/// Are all static values equal, the lengths of vectors, and the optionals, alternatives and keys that are present?
/// source  equality of two jax.tree_util.tree_structure
template <class Tree>
constexpr bool same_static(const Tree& a, const Tree& b) {
  detail::static_visitor visitor;
  detail::walk(visitor, detail::no_path{}, a, b);
  return visitor.same;
}

/// The path of the first static value, or part of the structure, that differs; empty if there is none.
template <class Tree>
constexpr std::string first_static_difference(const Tree& a, const Tree& b, std::string_view root = {}) {
  std::string where;
  detail::static_visitor visitor{true, &where};
  detail::walk(visitor, detail::text_path(root), a, b);
  return where;
}

}  // namespace tokamax
