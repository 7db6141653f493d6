// tokamax/transforms/arguments.hpp: how transformations select and check the arguments of a function.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/grad.cpp
#pragma once

#include <tokamax/core/leaf_kind.hpp>     // is_parameter
#include <tokamax/core/trace.hpp>         // leaves
#include <tokamax/lax/stop_gradient.hpp>  // variable_p

#include <tuple>    // tuple
#include <utility>  // pair

namespace tokamax {

namespace detail {
struct only_true {
  consteval only_true(bool value) {
    if (!value) throw "has_aux = false: leave it out";
  }
};
}  // namespace detail
/// States that a function returns a pair: the value that is differentiated, and anything else that it computed. Use it as
/// `value_and_grad(f, has_aux)` or, as in JAX, `value_and_grad(f, {.has_aux = true})`.
struct has_aux_tag {
  detail::only_true has_aux;
};
inline constexpr has_aux_tag has_aux{true};

namespace detail {

/// Argument numbers of a function with `Count` arguments. Without numbers it is the first one; negative numbers count from
/// the end.
template <int Count, int... Numbers>
struct argument_numbers {
  static constexpr int count = sizeof...(Numbers);
  static constexpr int number[sizeof...(Numbers)] = {(Numbers < 0 ? Numbers + Count : Numbers)...};
  static_assert(((Numbers >= -Count && Numbers < Count) && ...),
                "tokamax: an argument number that the function does not have");
  static constexpr int times(int argument) {
    int n = 0;
    for (const int k : number) n += k == argument;
    return n;
  }
  static constexpr bool has(int argument) { return times(argument) > 0; }
  template <std::size_t K>
  static constexpr std::size_t at() {
    return static_cast<std::size_t>(number[K]);
  }
  static_assert(((times(Numbers < 0 ? Numbers + Count : Numbers) == 1) && ...),
                "tokamax: an argument number that is given twice");
};
template <int Count>
struct argument_numbers<Count> : argument_numbers<Count, 0> {};

/// A number with respect to which a function is differentiated becomes an array.
template <bool Differentiated, class T>
constexpr decltype(auto) as_argument(const T& x) {
  if constexpr (Differentiated && std::is_arithmetic_v<T>)
    return array(x);
  else
    return (x);
}

/// One tree, or the tuple of several.
template <class... Trees>
constexpr auto one_or_tuple(std::tuple<Trees...>&& trees) {
  if constexpr (sizeof...(Trees) == 1)
    return std::get<0>(std::move(trees));
  else
    return std::move(trees);
}

/// Gives new names to the leaves of a tree, or to its parameters only, so that only their uses inside the function count for
/// its derivative.
template <bool Parameters = false, class Tree>
constexpr Tree as_variables(const Tree& given) {
  Tree tree = copy_tree(given);
  for_each_leaf(
      [](auto& a) {
        if ((!Parameters || is_parameter<decltype(a)>) && is_floating(a.dtype()))
          static_cast<array&>(a) = bind(described<variable_p>(), {a}, words{}, location{});
      },
      tree);
  return tree;
}
/// `tree` with the leaves `cts[from]`, `cts[from + 1]` and so on. One that does not exist becomes a literal zero, and so does
/// one that is no parameter, if only these are asked for.
template <bool Parameters = false, class Tree>
constexpr Tree with_cotangents(const Tree& tree, const arrays& cts, int from = 0) {
  Tree like = copy_tree(tree);
  for_each_leaf(
      [&](auto& a) {
        const array& ct = cts[from++];
        if ((!Parameters || is_parameter<decltype(a)>) && ct.exists())
          static_cast<array&>(a) = ct;
        else
          static_cast<array&>(a) = array(0.0, {a.dtype(), false, a.shape()});
      },
      like);
  return like;
}

/// The part of a function's result that is differentiated: all of it, or with `has_aux` the first element of a pair.
template <bool Aux, class Result>
constexpr const auto& differentiated(const Result& r) {
  if constexpr (Aux) {
    static_assert(
        requires { typename Result::second_type; },
        "tokamax: has_aux: the function is to return a pair of a value and of what else it computed");
    return r.first;
  } else {
    return r;
  }
}

/// Rejects an argument without floating leaves, because it has no gradient. If it has some, the other leaves get zeros;
/// JAX rejects such arguments too.
template <class Tree>
constexpr void require_floats(graph& g, const char* what, const Tree& tree, source_line l) {
  const arrays all = leaves(tree);
  for (const array& a : all)
    if (is_floating(a.dtype())) return;
  if (!all.empty()) reject(&g, l, what, all[0].type(), "at least one floating leaf");
}
/// Requires that floating leaves of `given` have the types of `wanted`.
constexpr void require_types(graph& g, const char* what, const arrays& given, const arrays& wanted, source_line l) {
  if (given.count() != wanted.count())
    reject(&g, l, what, message() << given.count() << " leaves", message() << wanted.count());
  for (int k = 0; k < given.count() && k < wanted.count(); ++k)
    if (is_floating(wanted[k].dtype()) && given[k].type() != wanted[k].type())
      reject(&g, l, what, given[k].type(), message("the type of its leaf, ") << wanted[k].type());
}

}  // namespace detail

}  // namespace tokamax
