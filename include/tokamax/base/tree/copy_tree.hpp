// tokamax/base/tree/copy_tree.hpp: a copy of a tree, also of what its unique_ptrs own.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <tokamax/base/tree/tree_walk.hpp>  // alternative_count

#include <cstddef>      // size_t
#include <tuple>        // get
#include <type_traits>  // is_copy_constructible_v
#include <utility>      // index_sequence

namespace tokamax {

namespace detail {

// Can a T be copied by its copy constructor? A container claims that it can, whatever it holds, so its elements are asked.
// `Seen` holds the types around T, because a tree may contain itself: struct node { std::vector<node> children; }.
template <class T, class... Seen>
consteval bool copies() {
  if constexpr ((std::is_same_v<T, Seen> || ...)) {
    return true;
  } else if constexpr (!std::is_copy_constructible_v<T>) {
    return std::is_array_v<T> && copies<std::remove_all_extents_t<T>, Seen...>();
  } else if constexpr (kind_of<T> == tree_kind::map) {
    return copies<typename T::mapped_type, T, Seen...>();
  } else if constexpr (kind_of<T> == tree_kind::sequence || kind_of<T> == tree_kind::optional) {
    return copies<typename T::value_type, T, Seen...>();
  } else if constexpr (kind_of<T> == tree_kind::record) {
    return []<class... Field>(std::type_identity<std::tuple<Field...>>) {
      return (copies<std::remove_cvref_t<Field>, T, Seen...>() && ...);
    }(std::type_identity<decltype(fields(std::declval<T&>()))>{});
  } else {
    return true;
  }
}

template <class T>
constexpr void copy_into(T& to, const T& from);

// A copy of one node of a tree: by its copy constructor if there is one, else part by part.
template <class T>
constexpr T copied(const T& from) {
  if constexpr (copies<T>()) {
    return from;
  } else if constexpr (requires { typename T::deleter_type; }) {
    return from ? T(new typename T::element_type(copied(*from))) : T();
  } else {
    T to{};
    copy_into(to, from);
    return to;
  }
}

// The index of a variant is known at run time only, so its alternatives are tried one after another.
template <std::size_t Index, class T>
constexpr void copy_alternative(T& to, const T& from) {
  if constexpr (Index < alternative_count<T>) {
    if (from.index() == Index)
      to.template emplace<Index>(copied(*get_if<Index>(&from)));
    else
      copy_alternative<Index + 1>(to, from);
  }
}

// Copies `from` into `to`, which exists already: fields and elements cannot be returned one by one.
template <class T>
constexpr void copy_into(T& to, const T& from) {
  constexpr tree_kind kind = kind_of<T>;
  if constexpr (copies<T>()) {
    to = from;
  } else if constexpr (kind == tree_kind::record) {
    auto targets = fields(to);
    auto sources = fields(from);
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (copy_into(std::get<Index>(targets), std::get<Index>(sources)), ...);
    }(std::make_index_sequence<field_count<T>>{});
  } else if constexpr (kind == tree_kind::sequence) {
    if constexpr (requires { to.resize(std::size(from)); }) to.resize(std::size(from));
    for (std::size_t i = 0; i < std::size(from); ++i) copy_into(to[i], from[i]);
  } else if constexpr (kind == tree_kind::map) {
    to.clear();
    for (const auto& [key, value] : from) to.emplace(key, copied(value));
  } else if constexpr (kind == tree_kind::variant) {
    copy_alternative<0>(to, from);
  } else if constexpr (requires { typename T::deleter_type; }) {
    to = copied(from);
  } else {
    to.reset();
    if (from) to.emplace(copied(*from));
  }
}

}  // namespace detail

/// A copy of `tree`, also of what its unique_ptrs own: trees are values.
template <class Tree>
constexpr Tree copy_tree(const Tree& tree) {
  return detail::copied(tree);
}

}  // namespace tokamax
