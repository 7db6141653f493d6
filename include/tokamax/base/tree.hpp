// tokamax/base/tree.hpp: functions over all leaves of nested structs, tuples and sequences.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <tokamax/base/error.hpp>      // error
#include <tokamax/base/tree_node.hpp>  // kind_of

#include <cstddef>      // size_t
#include <iterator>     // size
#include <string>       // paths
#include <string_view>  // string_view
#include <tuple>        // get
#include <type_traits>  // remove_cvref_t
#include <utility>      // as_const, forward

namespace tokamax {

namespace detail {

// The way from the root to the current node. Walks that need no paths carry one that is empty and costs nothing.
struct no_path {
  static constexpr bool named = false;
};
struct text_path {
  static constexpr bool named = true;
  std::string text;

  template <class Record, std::size_t I>
  void enter_field() {
    if constexpr (requires { fields_of<Record>::positional; }) {
      enter_element(I);
    } else {
      if (!text.empty()) text += '.';
      text += field_name<Record, I>;
    }
  }
  void enter_element(std::size_t i) { text.append("[").append(std::to_string(i)).append("]"); }
};

template <class Visitor, class Path, class Tree, class... Rest>
constexpr void walk(Visitor& visitor, Path& path, Tree& tree, Rest&... rest);

template <class Record, std::size_t I, class Visitor, class Path, class... Fields>
constexpr void walk_field(Visitor& visitor, Path& path, const Fields&... fields) {
  if constexpr (Path::named) {
    const std::size_t mark = path.text.size();
    path.template enter_field<Record, I>();
    walk(visitor, path, std::get<I>(fields)...);
    path.text.resize(mark);
  } else {
    walk(visitor, path, std::get<I>(fields)...);
  }
}
template <class Record, class Visitor, class Path, std::size_t... I, class... Fields>
constexpr void walk_fields(Visitor& visitor, Path& path, std::index_sequence<I...>, const Fields&... fields) {
  (walk_field<Record, I>(visitor, path, fields...), ...);
}

template <class Visitor, class Path, class Tree, class... Rest>
constexpr void walk(Visitor& visitor, Path& path, Tree& tree, Rest&... rest) {
  constexpr tree_kind kind = kind_of<Tree>;
  static_assert(
      kind != tree_kind::none,
      "tokamax: this type is no part of a tree; a tree is made of leaves (arrays), plain structs without base "
      "classes, classes with tokamax_fields, std::array, std::vector, std::pair, std::tuple, and static values "
      "(numbers, enumerators, texts, function pointers, captureless lambdas)");
  if constexpr (kind == tree_kind::leaf) {
    visitor.leaf(path, tree, rest...);
  } else if constexpr (kind == tree_kind::constant) {
    visitor.constant(path, tree, rest...);
  } else if constexpr (kind == tree_kind::sequence) {
    static_assert(((kind_of<Rest> == kind) && ...), "tokamax: the trees differ: one has a sequence, another has not");
    const std::size_t length = std::size(tree);
    if (!visitor.same_length(path, length, std::size(rest)...)) return;
    for (std::size_t i = 0; i < length; ++i) {
      if constexpr (Path::named) {
        const std::size_t mark = path.text.size();
        path.enter_element(i);
        walk(visitor, path, tree[i], rest[i]...);
        path.text.resize(mark);
      } else {
        walk(visitor, path, tree[i], rest[i]...);
      }
    }
  } else if constexpr (kind == tree_kind::record) {
    static_assert(((kind_of<Rest> == kind) && ...), "tokamax: the trees differ: one has a record, another has not");
    if constexpr (((kind_of<Rest> == kind) && ...)) {
      static_assert(((field_count<Rest> == field_count<Tree>) && ...),
                    "tokamax: the trees differ in their field counts");
      if constexpr (!Path::named && sizeof...(Rest) == 0) {
        visit_fields(tree, [&](auto&... field) { (walk(visitor, path, field), ...); });
      } else {
        walk_fields<std::remove_cv_t<Tree>>(visitor, path, std::make_index_sequence<field_count<Tree>>{}, fields(tree),
                                            fields(rest)...);
      }
    }
  }
}

[[noreturn]] inline void throw_length(std::size_t found, std::size_t expected) {
  throw error("tree: length of a vector", std::to_string(found), std::to_string(expected));
}

template <class F>
struct leaf_visitor {
  F& f;

  constexpr void leaf(const no_path&, auto&... leaves) { f(leaves...); }
  void leaf(const text_path& path, auto& leaf) { f(std::string_view(path.text), leaf); }
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
    if constexpr (requires { path.text; }) *where = path.text;
  }
};

}  // namespace detail

/// Calls `f(leaf, rest_leaf...)` for every leaf of `tree`, in the order of declaration.
/// `rest` are trees of the same structure, walked in lockstep; where `tree` has a leaf they may hold anything.
/// errors: vectors of different lengths.
template <class F, class Tree, class... Rest>
constexpr void for_each_leaf(F&& f, Tree&& tree, Rest&&... rest) {
  detail::leaf_visitor<std::remove_reference_t<F>> visitor{f};
  detail::no_path path;
  detail::walk(visitor, path, tree, rest...);
}

/// Calls `f(path, leaf)` for every leaf, with a path such as `model.blocks[3].attend.qkv` under the name `root`.
template <class F, class Tree>
void for_each_leaf_with_path(F&& f, Tree&& tree, std::string_view root = {}) {
  detail::leaf_visitor<std::remove_reference_t<F>> visitor{f};
  detail::text_path path{std::string(root)};
  detail::walk(visitor, path, tree);
}

/// A copy of `tree` with each leaf replaced by `f(leaf, rest_leaf...)`; `rest` as in `for_each_leaf`.
template <class F, class Tree, class... Rest>
constexpr std::remove_cvref_t<Tree> tree_map(F&& f, Tree&& tree, Rest&&... rest) {
  std::remove_cvref_t<Tree> result = std::forward<Tree>(tree);
  for_each_leaf([&](auto& leaf, auto&... others) { leaf = f(std::as_const(leaf), std::as_const(others)...); }, result,
                rest...);
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
  detail::no_path path;
  detail::walk(visitor, path, a, b);
  return visitor.same;
}

/// The path of the first static value or vector length that differs; empty if there is none.
template <class Tree>
std::string first_static_difference(const Tree& a, const Tree& b, std::string_view root = {}) {
  std::string where;
  detail::static_visitor visitor{true, &where};
  detail::text_path path{std::string(root)};
  detail::walk(visitor, path, a, b);
  return where;
}

}  // namespace tokamax
