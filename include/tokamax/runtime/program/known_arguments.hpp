// tokamax/runtime/program/known_arguments.hpp: which calls of a function the compiler can trace, and what is not known of the others.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/program/known_arguments.cpp
#pragma once

#include <tokamax/base/fixed_string.hpp>            // fixed_string
#include <tokamax/core/trace.hpp>                   // is_stateless
#include <tokamax/runtime/program/tree_layout.hpp>  // has_static_structure

#include <type_traits>  // bool_constant, is_default_constructible_v

namespace tokamax {

/// The compiler prints this for a call that is to be traced while compiling and cannot be: which argument (or leaf of it) is
/// in the way, what was found there, and what was expected.
template <fixed_string Argument, fixed_string Found, fixed_string Expected>
struct unknown_while_compiling {
  static_assert(Argument.size() == 0, "tokamax: not known while compiling: the line above says which argument and why");
};

namespace detail {

// g++ 12 does not instantiate the members of T inside of a requires-expression, but it does for a function like this one.
template <class T>
constexpr bool makes_default() {
  [[maybe_unused]] T tree{};  // not const: g++ 12 refuses constructors of fields that assign to members
  return true;
}
template <class T>
concept constant_default = requires { typename std::bool_constant<makes_default<T>()>; };

/// Does a leaf of a default value tell the type of the arrays that will stand in its place? A layer has extents of 0 before it
/// is given its sizes: all of them, or those of its matrices. A single vector without elements is a bias that is not used,
/// and a tensor's type says itself that it is empty.
template <class Leaf>
constexpr bool tells_type(const Leaf& leaf, bool all_are_empty) {
  if (!leaf.exists() || leaf.is_traced()) return false;
  if constexpr (requires { Leaf::static_type; })
    return true;
  else
    return leaf.size() != 0 || (leaf.rank() < 2 && !all_are_empty);
}
template <class T>
constexpr bool no_leaf_has_elements(const T& tree) {
  bool none = true;
  for_each_leaf([&](const array& leaf) { none = none && leaf.exists() && leaf.size() == 0; }, tree);
  return none;
}
template <class T>
constexpr bool all_leaves_known() {
  bool known = true;
  T tree{};
  const bool all_are_empty = no_leaf_has_elements(tree);
  for_each_leaf([&](const auto& leaf) { known = known && tells_type(leaf, all_are_empty); }, tree);
  return known;
}

/// Do the types and default values of the arguments tell their structure, dtypes and shapes?
template <class F, class... Args>
consteval bool known_while_compiling() {
  if constexpr (!is_stateless<F> || !std::is_default_constructible_v<F>)
    return false;
  else
    return ([] {
      if constexpr (!has_static_structure<Args>())
        return false;
      else if constexpr (!constant_default<Args>)
        return false;
      else
        return all_leaves_known<Args>();
    }() && ...);
}

/// What is not known, as the parts of a message; empty parts if all is.
struct unknown_fact {
  message argument, found, expected;
};
template <class T>
constexpr void find_unknown(unknown_fact& u, int position) {
  const message name = message("argument ") << position;
  if constexpr (!has_static_structure<T>()) {
    u = {name, "a structure that its type does not tell", "no vector, optional, variant, map or unique_ptr"};
  } else if constexpr (!constant_default<T>) {
    u = {name, "a default value that needs the running program", "a constant expression"};
  } else {
    T tree{};
    const bool all_are_empty = no_leaf_has_elements(tree);
    for_each_leaf_with_path(
        [&](std::string_view path, const auto& leaf) {
          if (u.argument.length > 0 || tells_type(leaf, all_are_empty)) return;
          if (!leaf.exists())
            u.found = "an array of any dtype and shape";
          else
            u.found << leaf.type() << " as its default value";
          u.argument = path;
          u.expected = "a tensor, or a default value with extents above 0";
        },
        tree, name.view());
  }
}
template <class F, class... Args>
consteval unknown_fact first_unknown() {
  unknown_fact u;
  if constexpr (!is_stateless<F> || !std::is_default_constructible_v<F>) {
    u = {"the function", "state, such as captured values", "a function without state"};
  } else {
    int position = 0;
    ((u.argument.length > 0 ? void() : find_unknown<Args>(u, position), ++position), ...);
  }
  return u;
}
template <class F, class... Args>
inline constexpr unknown_fact unknown_of = first_unknown<F, Args...>();

}  // namespace detail

}  // namespace tokamax
