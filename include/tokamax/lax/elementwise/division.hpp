// tokamax/lax/elementwise/division.hpp: quotients and remainders of division toward zero, and clamp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/unary.hpp>  // floor

#include <cstddef>  // size_t
#include <limits>   // numeric_limits

namespace tokamax {

namespace detail {
/// Applies f to each pair of lanes, because vector units do not divide integers.
template <class V, class F>
V lane_by_lane(V a, V b, F f) {
  using T = typename V::value_type;
  alignas(64) T x[V::size], y[V::size];
  a.store_aligned(x);
  b.store_aligned(y);
  for (std::size_t i = 0; i < V::size; ++i) x[i] = f(x[i], y[i]);
  return V::load_aligned(x);
}
template <class T>
constexpr bool wraps(T a, T b) {  // the lowest number divided by -1 is the one quotient that does not fit
  return std::numeric_limits<T>::is_signed && a == std::numeric_limits<T>::lowest() && b == static_cast<T>(-1);
}
}  // namespace detail

struct quotient_fn {
  static double apply(double a, double b) { return b == 0 ? -1 : std::trunc(a / b); }
  static spelled apply(spelled a, spelled b) { return spelled::call("quotient", {a, b}); }
  template <class V>
  static V apply(V a, V b) {
    return detail::lane_by_lane(a, b, [](auto x, auto y) {
      return y == 0 ? static_cast<decltype(x)>(-1) : detail::wraps(x, y) ? x : x / y;
    });
  }
};
struct rem_fn {
  static double apply(double a, double b) { return std::fmod(a, b); }
  static spelled apply(spelled a, spelled b) { return spelled::call("rem", {a, b}); }
  template <class V>
  static V apply(V a, V b) {
    return detail::lane_by_lane(a, b, []<class T>(T x, T y) -> T {
      if constexpr (std::is_floating_point_v<T>)
        return std::fmod(x, y);
      else
        return y == 0 ? x : detail::wraps(x, y) ? T(0) : x % y;
    });
  }
};

/// Integer division toward zero.
inline constexpr op quotient_p = elementwise<quotient_fn, 2>({
    .name = "quotient",
    .stablehlo = "stablehlo.divide",
    .dtypes = accepts::integers,
    .vjp = detail::no_gradient,
    .kernels = kernels_of<quotient_p>,
});
template <>
struct element_of<quotient_p> : quotient_fn {};

inline constexpr op rem_p = elementwise<rem_fn, 2>({
    .name = "rem",
    .stablehlo = "stablehlo.remainder",
    .dtypes = accepts::numbers,
    .vjp = [](const call& c) -> arrays {
      array gb;
      if (c.needs(1)) {
        const array q = c[0] / c[1];
        gb = -(c.ct() * (sign(q) * floor(abs(q))));
      }
      return {c.ct(), gb};
    },
    .kernels = kernels_of<rem_p>,
});
template <>
struct element_of<rem_p> : rem_fn {};

/// The remainder of division toward zero, which has the sign of a. The remainder of an integer by zero is that integer.
/// source  jax.lax.rem
constexpr array rem(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::binary(described<rem_p>(), a, b, l);
}

/// The quotient of integers, toward zero; -1 (all bits set) where b is zero.
/// source  jax.lax.div
constexpr array quotient(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::binary(described<quotient_p>(), a, b, l);
}

/// min(max(x, low), high).
/// source  jax.lax.clamp
constexpr array clamp(const array& low, const array& x, const array& high, source_line l = source_line::current()) {
  return minimum(maximum(x, low, l), high, l);
}

}  // namespace tokamax
