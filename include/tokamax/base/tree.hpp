// tokamax/base/tree.hpp: functions over all leaves of nested structs, tuples and sequences.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <tokamax/base/error.hpp>      // error
#include <tokamax/base/tree_walk.hpp>  // walk

#include <cstddef>      // size_t
#include <string>       // string
#include <string_view>  // string_view
#include <type_traits>  // remove_cvref_t, is_pointer_v
#include <utility>      // as_const, forward

namespace tokamax {

namespace detail {

[[noreturn]] inline void throw_length(std::size_t found, std::size_t expected) {
  throw error("tree: length of a vector", std::to_string(found), std::to_string(expected));
}

template <class F>
struct leaf_visitor {
  F& f;

  constexpr void leaf(const no_path&, auto&... leaves) { f(leaves...); }
  void leaf(const text_path& path, auto& leaf) { f(std::string_view(path.text()), leaf); }
  constexpr void constant(const auto&, auto&...) {}
  constexpr bool same_length(const auto&, std::size_t length, auto... others) {
    for (const std::size_t other : {length, others...}) {
      if (other != length) throw_length(other, length);
    }
    return true;
  }
};

// Remembers the first difference.
struct static_visitor {
  bool same = true;
  std::string* where = nullptr;

  constexpr void leaf(const auto&, const auto&...) {}
  template <class T>
  constexpr void constant(const auto& path, const T& a, const T& b) {
    if (same && !equal_static(a, b)) differ(path);
  }
  constexpr bool same_length(const auto& path, std::size_t a, std::size_t b) {
    if (same && a != b) differ(path);
    return same;
  }
  constexpr void differ(const auto& path) {
    same = false;
    if constexpr (requires { path.text(); }) *where = path.text();
  }
};

}  // namespace detail

/// Calls `f(leaf, rest_leaf...)` for every leaf of `tree`, in the order of declaration.
/// `rest` are trees of the same structure, walked in lockstep; where `tree` has a leaf they may hold anything.
/// errors: vectors of different lengths.
template <class F, class Tree, class... Rest>
constexpr void for_each_leaf(F&& f, Tree&& tree, Rest&&... rest) {
  detail::leaf_visitor<std::remove_reference_t<F>> visitor{f};
  detail::walk(visitor, detail::no_path{}, tree, rest...);
}

/// Calls `f(path, leaf)` for every leaf, with a path such as `model.blocks[3].attend.qkv` under the name `root`.
template <class F, class Tree>
void for_each_leaf_with_path(F&& f, Tree&& tree, std::string_view root = {}) {
  detail::leaf_visitor<std::remove_reference_t<F>> visitor{f};
  detail::walk(visitor, detail::text_path(root), tree);
}

/// A copy of `tree` with each leaf replaced by `f(leaf, rest_leaf...)`; `rest` as in `for_each_leaf`.
template <class F, class Tree, class... Rest>
constexpr std::remove_cvref_t<Tree> tree_map(F&& f, Tree&& tree, Rest&&... rest) {
  std::remove_cvref_t<Tree> result = std::forward<Tree>(tree);
  for_each_leaf(
      [&](auto& leaf, auto&... others) {
        using type = std::remove_reference_t<decltype(leaf)>;
        if constexpr (requires { leaf = f(std::as_const(leaf), std::as_const(others)...); })
          leaf = f(std::as_const(leaf), std::as_const(others)...);
        else  // such as an array for a key
          leaf = type(f(std::as_const(leaf), std::as_const(others)...));
      },
      result, rest...);
  return result;
}

/// The number of leaves.
template <class Tree>
constexpr std::size_t count_leaves(Tree&& tree) {
  std::size_t count = 0;
  for_each_leaf([&](const auto&) { ++count; }, tree);
  return count;
}

/// Appends the leaves of `tree` to `sink`, by address if that holds pointers and as copies otherwise.
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

/// Whether all static values, and the lengths of vectors, are equal.
template <class Tree>
constexpr bool same_static(const Tree& a, const Tree& b) {
  detail::static_visitor visitor;
  detail::walk(visitor, detail::no_path{}, a, b);
  return visitor.same;
}

/// The path of the first static value or vector length that differs; empty if there is none.
template <class Tree>
std::string first_static_difference(const Tree& a, const Tree& b, std::string_view root = {}) {
  std::string where;
  detail::static_visitor visitor{true, &where};
  detail::walk(visitor, detail::text_path(root), a, b);
  return where;
}

}  // namespace tokamax
