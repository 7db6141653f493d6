// tokamax/transforms/jvp.hpp: the derivative of a function along a direction.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/arguments.hpp>       // has_aux_tag, as_variables, with_cotangents
#include <tokamax/transforms/passes/forward.hpp>  // forward

namespace tokamax {

namespace detail {

// Primals and tangents: one argument, or the tuple of several.
template <class T>
constexpr auto as_primals(const T& x) {
  return as_argument<true>(x);
}
template <class... T>
constexpr auto as_primals(const std::tuple<T...>& x) {
  return std::apply(
      [](const auto&... each) {
        return std::tuple<std::remove_cvref_t<decltype(as_argument<true>(each))>...>(as_argument<true>(each)...);
      },
      x);
}
template <class F, class T>
constexpr auto call_with(const F& f, const T& x) {
  return f(x);
}
template <class F, class... T>
constexpr auto call_with(const F& f, const std::tuple<T...>& x) {
  return std::apply(f, x);
}

template <bool Aux, class F, class Primals, class Tangents>
constexpr auto jvp_of(const F& f, const Primals& x, const Tangents& tangent, source_line l) {
  using result_type = decltype(call_with(f, x));
  using value_type = std::remove_cvref_t<decltype(differentiated<Aux>(std::declval<const result_type&>()))>;
  const auto pushed = in_trace(
      [&f, l](graph& g, const Primals& traced, const Tangents& direction) -> std::pair<result_type, value_type> {
        require_types(g, "jvp: tangent", leaves(direction), leaves(traced), l);
        const Primals variables = as_variables(traced);
        const result_type result = call_with(f, variables);
        const value_type& y = differentiated<Aux>(result);
        arrays ys;
        for (const array& a : leaves(y)) ys.push_back(lift(g, a));
        return {result, with_cotangents(y, forward(g, leaves(variables), leaves(direction), ys))};
      },
      x, tangent);
  if constexpr (Aux)
    return std::tuple{pushed.first.first, pushed.second, pushed.first.second};
  else
    return pushed;
}

}  // namespace detail

/// f(x) and its directional derivative along `tangent`, which is a tree like x. If x is a std::tuple, its elements are the
/// arguments of f. With `has_aux`, f returns a pair of the value and anything else, and the latter is a third result.
///
///   { f(x), d/de f(x + e * tangent) at e = 0 }
///
///   auto [y, dy] = jvp(f, std::tuple{x, w}, std::tuple{dx, dw});
///
/// errors  "jvp: tangent" if its types are not those of x
/// source  jax.jvp
template <class F, class Primals, class Tangents>
constexpr auto jvp(F f, const Primals& x, const Tangents& tangent, source_line l = source_line::current()) {
  return detail::jvp_of<false>(f, detail::as_primals(x), detail::as_primals(tangent), l);
}
template <class F, class Primals, class Tangents>
constexpr auto jvp(F f, const Primals& x, const Tangents& tangent, has_aux_tag,
                   source_line l = source_line::current()) {
  return detail::jvp_of<true>(f, detail::as_primals(x), detail::as_primals(tangent), l);
}

}  // namespace tokamax
