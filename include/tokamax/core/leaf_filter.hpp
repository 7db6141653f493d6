// tokamax/core/leaf_filter.hpp: filters that choose leaves of a tree by kind or path, joined by &&, || and !.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree/tree_path.hpp>  // matching, call_on_leaf
#include <tokamax/core/leaf_kind.hpp>       // is_parameter

#include <string_view>  // string_view
#include <type_traits>  // is_base_of_v

namespace tokamax {

/// Extension point: is T a filter, so that &&, || and ! join it? Functions of path and leaf, of the leaf or of the path choose
/// leaves too, and join a filter, but not one another.
template <class T>
inline constexpr bool is_leaf_filter = false;
template <>
inline constexpr bool is_leaf_filter<matching> = true;

/// What `of_kind` and `trainable` are, and what joined filters become.
template <class Kind>
struct kind_filter {
  template <class Leaf>
    requires std::is_base_of_v<array, Leaf>
  constexpr bool operator()(const Leaf&) const {
    return std::is_base_of_v<Kind, Leaf>;
  }
};
struct parameter_filter {
  template <class Leaf>
    requires std::is_base_of_v<array, Leaf>
  constexpr bool operator()(const Leaf&) const {
    return is_parameter<Leaf>;
  }
};
template <class A, class B>
struct both_filter {
  A a;
  B b;
  template <class Leaf>
  constexpr bool operator()(std::string_view path, const Leaf& leaf) const {
    return detail::call_on_leaf(a, path, leaf) && detail::call_on_leaf(b, path, leaf);
  }
};
template <class A, class B>
struct either_filter {
  A a;
  B b;
  template <class Leaf>
  constexpr bool operator()(std::string_view path, const Leaf& leaf) const {
    return detail::call_on_leaf(a, path, leaf) || detail::call_on_leaf(b, path, leaf);
  }
};
template <class A>
struct not_filter {
  A a;
  template <class Leaf>
  constexpr bool operator()(std::string_view path, const Leaf& leaf) const {
    return !detail::call_on_leaf(a, path, leaf);
  }
};

namespace detail {
template <class A, class B>
concept joined_filters = std::is_class_v<A> && std::is_class_v<B> && !std::is_base_of_v<array, A> &&
                         !std::is_base_of_v<array, B> && (is_leaf_filter<A> || is_leaf_filter<B>);
}  // namespace detail

template <class Kind>
inline constexpr bool is_leaf_filter<kind_filter<Kind>> = true;
template <>
inline constexpr bool is_leaf_filter<parameter_filter> = true;
template <class A, class B>
inline constexpr bool is_leaf_filter<both_filter<A, B>> = true;
template <class A, class B>
inline constexpr bool is_leaf_filter<either_filter<A, B>> = true;
template <class A>
inline constexpr bool is_leaf_filter<not_filter<A>> = true;

/// Chooses the leaves of a kind, or of one derived from it: `partition(model, of_kind<nn::statistic>)`.
/// source  flax.nnx.filterlib.OfType
template <class Kind>
inline constexpr kind_filter<Kind> of_kind{};
/// Chooses the leaves that are trained.
inline constexpr parameter_filter trainable{};

/// Filters are joined: `matching("blocks") && !matching("*.bias")`, `of_kind<adapter> || [](const array& a) { return a.rank() == 1; }`.
/// source  flax.nnx.filterlib.All, Any, Not
template <class A, class B>
  requires detail::joined_filters<A, B>
constexpr both_filter<A, B> operator&&(const A& a, const B& b) {
  return {a, b};
}
template <class A, class B>
  requires detail::joined_filters<A, B>
constexpr either_filter<A, B> operator||(const A& a, const B& b) {
  return {a, b};
}
template <class A>
  requires is_leaf_filter<A>
constexpr not_filter<A> operator!(const A& a) {
  return {a};
}

}  // namespace tokamax
