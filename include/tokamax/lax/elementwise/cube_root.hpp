// tokamax/lax/elementwise/cube_root.hpp: cube roots, and powers of two.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/elementwise/trigonometric.cpp
#pragma once

#include <tokamax/lax/elementwise/composed.hpp>  // special
#include <tokamax/lax/elementwise/unary.hpp>     // exp, log, power

namespace tokamax {

namespace detail {
/// e^(log(a) / 3) for a = |x|, whose digits one step of Newton's method doubles. Zero and infinity are their own roots.
constexpr array cbrt_value(const arrays& v) {
  const array a = abs(v[0]), r = exp(log(a) * (1.0 / 3));
  const array better = r - (r - a / (r * r)) * (1.0 / 3);
  return sign(v[0]) * select(a + a == a, a, better);
}
constexpr array cbrt_slope(const arrays&, const array& y) { return (1.0 / 3) / y / y; }

constexpr array exp2_value(const arrays& v) { return power(array(2.0, v[0].type()), v[0]); }
constexpr array exp2_slope(const arrays&, const array& y) { return y * 0.69314718055994531; }
}  // namespace detail

inline constexpr op cbrt_p = detail::special({.name = "cbrt",
                                              .stablehlo = "stablehlo.cbrt",
                                              .compose = detail::special_compose<detail::cbrt_value>,
                                              .vjp = detail::special_vjp<detail::cbrt_slope>});
inline constexpr op exp2_p = detail::special({.name = "exp2",
                                              .compose = detail::special_compose<detail::exp2_value>,
                                              .vjp = detail::special_vjp<detail::exp2_slope>});

/// The real cube root, also of negative numbers, within 1.5 units in the last place. The gradient at 0 is
/// infinite.
///
/// dtypes  any float, composed in f32 or f64; integers become f32
/// source  jax.lax.cbrt, jax.numpy.cbrt
constexpr array cbrt(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<cbrt_p>(), x, l);
}
/// 2^x within 1 unit in the last place, and exact for whole x.
///
/// dtypes  any float; integers become f32
/// source  jax.lax.exp2, jax.numpy.exp2
constexpr array exp2(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<exp2_p>(), x, l);
}

}  // namespace tokamax
