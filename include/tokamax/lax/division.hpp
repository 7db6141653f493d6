// tokamax/lax/division.hpp: quotients and remainders, truncating or flooring, and clamp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/unary.hpp>  // floor, round

#include <cstddef>  // size_t
#include <limits>   // numeric_limits

namespace tokamax {

namespace detail {
/// f on each pair of lanes: no vector unit divides integers.
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
constexpr bool wraps(T a, T b) {  // the one quotient that does not fit
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
inline constexpr op quotient_p = elementwise<quotient_fn, 2>({.name = "quotient",
                                                              .stablehlo = "stablehlo.divide",
                                                              .dtypes = accepts::integers,
                                                              .vjp = detail::no_gradient,
                                                              .kernels = kernels_of<quotient_p>});
template <>
struct element_of<quotient_p> : quotient_fn {};

inline constexpr op rem_p = elementwise<rem_fn, 2>({.name = "rem",
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
                                                    .kernels = kernels_of<rem_p>});
template <>
struct element_of<rem_p> : rem_fn {};

/// The remainder of division toward zero: it has the sign of a. An integer divided by zero leaves itself.
/// source  jax.lax.rem
constexpr array rem(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::binary(rem_p, a, b, l);
}

/// The quotient of integers, toward zero; -1 (all bits set) where b is zero.
/// source  jax.lax.div
constexpr array quotient(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::binary(quotient_p, a, b, l);
}

namespace detail {
/// Both operands with their common dtype and shape, truth values as i32: their signs count after promotion.
struct dividends {
  array a, b, zero;
  constexpr dividends(const op& o, const array& left, const array& right, source_line l) {
    array x[2] = {left, right};
    unify(o, x, l);
    for (array& v : x)
      if (v.dtype() == bool_) v = convert_element_type(v, i32, false, l);
    a = x[0], b = x[1];
    zero = array(0.0, {a.dtype(), true, {}});
  }
};
}  // namespace detail

/// The remainder of flooring division: it has the sign of b. The remainder of an integer by zero is 0.
/// dtypes  integers stay integers, bool becomes i32
/// source  jax.numpy.remainder
constexpr array remainder(const array& dividend, const array& divisor, source_line l = source_line::current()) {
  auto [a, b, zero] = detail::dividends(rem_p, dividend, divisor, l);
  if (is_integer(b.dtype())) b = select(b == zero, array(1.0, b.type()), b, l);
  const array r = rem(a, b, l);
  return select(logical_and((r < zero) != (b < zero), r != zero), r + b, r, l);
}

/// floor(a / b). An integer divided by zero has the quotient toward zero, -1, which signed dtypes lower by 1 unless a is 0.
/// dtypes  integers stay integers, bool becomes i32
/// source  jax.numpy.floor_divide
constexpr array floor_divide(const array& dividend, const array& divisor, source_line l = source_line::current()) {
  const auto [a, b, zero] = detail::dividends(rem_p, dividend, divisor, l);
  if (is_unsigned(a.dtype())) return quotient(a, b, l);
  const array r = rem(a, b, l), one(1.0, {r.dtype(), true, {}});
  if (is_integer(r.dtype())) {
    const array q = quotient(a, b, l);
    return select(logical_and(sign(a, l) != sign(b, l), r != zero), q - one, q, l);
  }
  const array q = (a - r) / b;
  const array whole = round(select(logical_and(r != zero, (b < zero) != (r < zero)), q - one, q, l), l);
  return select(b == zero, a / b, whole, l);
}

/// min(max(x, low), high).
/// source  jax.lax.clamp
constexpr array clamp(const array& low, const array& x, const array& high, source_line l = source_line::current()) {
  return clip(x, low, high, l);
}

}  // namespace tokamax
