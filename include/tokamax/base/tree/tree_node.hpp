// tokamax/base/tree/tree_node.hpp: what a type is inside a tree: a leaf, a static value, or a node that holds others.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/base/tree.cpp
#pragma once
#include <tokamax/base/bfloat16.hpp>      // a static value
#include <tokamax/base/tree/reflect.hpp>  // fields_of

#include <array>        // a sequence
#include <cstddef>      // size_t
#include <string>       // a static value
#include <string_view>  // a static value
#include <tuple>        // a positional record
#include <type_traits>  // is_arithmetic_v
#include <utility>      // pair
#include <vector>       // a sequence

namespace tokamax {

/// Extension point: is T a leaf, such as an array?
template <class T>
inline constexpr bool is_leaf = false;

/// Extension point: is T a static value? A tree carries these along and compares them with `==`: numbers, enumerators,
/// texts, pointers to functions and members, captureless lambdas.
template <class T>
inline constexpr bool is_static =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_null_pointer_v<T> || std::is_member_pointer_v<T> ||
    (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>) || (std::is_empty_v<T> && !record<T>);
template <>
inline constexpr bool is_static<bfloat16> = true;
template <>
inline constexpr bool is_static<const char*> = true;
template <>
inline constexpr bool is_static<std::string> = true;
template <>
inline constexpr bool is_static<std::string_view> = true;
template <>
inline constexpr bool is_static<std::vector<bool>> = true;  // its elements are bits, to which nothing can refer

/// Are two static values equal? Texts compare by content, and a NaN equals a NaN.
template <class T>
constexpr bool equal_static(const T& a, const T& b) {
  if constexpr (std::is_empty_v<T>) {
    return true;
  } else if constexpr (std::is_same_v<T, const char*>) {
    return a == nullptr || b == nullptr ? a == b : std::string_view(a) == std::string_view(b);
  } else {
    return a == b || (a != a && b != b);
  }
}

/// Tuples and pairs are records whose fields have positions instead of names.
template <class... T>
struct fields_of<std::tuple<T...>> {
  static constexpr std::size_t count = sizeof...(T);
  static constexpr bool positional = true;
  static constexpr decltype(auto) visit(auto& it, auto&& f) { return std::apply(f, it); }
};
template <class A, class B>
struct fields_of<std::pair<A, B>> {
  static constexpr std::size_t count = 2;
  static constexpr bool positional = true;
  static constexpr decltype(auto) visit(auto& it, auto&& f) { return f(it.first, it.second); }
};

enum class tree_kind {
  leaf,
  constant,  ///< a static value
  sequence,  ///< array, vector
  record,    ///< struct, pair, tuple
  optional,  ///< optional, unique_ptr: a child or none
  variant,   ///< the child that is active
  map,       ///< children by texts
  none       ///< no part of a tree
};

namespace detail {

template <class T>
inline constexpr bool is_sequence = std::is_bounded_array_v<T>;
template <class T, std::size_t N>
inline constexpr bool is_sequence<std::array<T, N>> = true;
template <class T, class A>
inline constexpr bool is_sequence<std::vector<T, A>> = true;

// Standard containers are recognised by their members. So a program need not include the headers of containers that it
// does not use.
template <class T>
concept optional_node = requires(T& it) {
  typename T::value_type;
  it.has_value();
  it.reset();
  *it;
} || (requires {
  typename T::element_type;
  typename T::deleter_type;
} && requires(T& it) { *it; });
template <class T>
concept variant_node = requires(const T& it) {
  it.index();
  it.valueless_by_exception();
};
template <class T>
concept map_node = requires {
  typename T::mapped_type;
  typename T::key_compare;
} && std::is_same_v<typename T::key_type, std::string>;

template <class T>
consteval tree_kind classify_class() {
  if constexpr (optional_node<T>)
    return tree_kind::optional;
  else if constexpr (variant_node<T>)
    return tree_kind::variant;
  else if constexpr (map_node<T>)
    return tree_kind::map;
  else
    return record<T> ? tree_kind::record : tree_kind::none;
}

template <class T>
consteval tree_kind classify() {
  if constexpr (is_leaf<T>) {
    return tree_kind::leaf;
  } else if constexpr (is_sequence<T> && !is_static<T>) {
    return tree_kind::sequence;
  } else if constexpr (is_static<T>) {
    return tree_kind::constant;
  } else if constexpr (std::is_class_v<T> && !std::is_aggregate_v<T>) {
    return classify_class<T>();
  } else if constexpr (record<T>) {
    return tree_kind::record;
  } else {
    return tree_kind::none;
  }
}

}  // namespace detail

/// What `T` is inside a tree.
template <class T>
inline constexpr tree_kind kind_of = detail::classify<std::remove_cv_t<T>>();

/// A type that can be a tree or a part of one. Only its outermost level is checked.
template <class T>
concept tree_node = kind_of<std::remove_reference_t<T>> != tree_kind::none;

}  // namespace tokamax
