// tokamax/lax/elementwise/hyperbolic.hpp: the hyperbolic sine and cosine, and the inverses of hyperbolic functions.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/elementwise/trigonometric.cpp
#pragma once

#include <tokamax/lax/elementwise/composed.hpp>  // special
#include <tokamax/lax/elementwise/unary.hpp>     // expm1, log1p

#include <limits>  // quiet_NaN

namespace tokamax {

constexpr array sinh(const array& x, source_line l = source_line::current());
constexpr array cosh(const array& x, source_line l = source_line::current());

namespace detail {
/// From here on 1 + x^2 rounds to x^2, so that log(x + sqrt(x^2 + 1)) is log(x) + log(2).
constexpr double where_squares_hide_one(const array& x) { return x.dtype() == f64 ? 0x1p28 : 0x1p13; }
/// log1p(near), or log(2 x) where x is so large that its square might overflow.
constexpr array log_of_sum(const array& x, const array& near) {
  const array far = x > where_squares_hide_one(x);
  const array added = select(far, array(0.69314718055994531, x.type()), array(0.0, x.type()));
  return log1p(select(far, x - 1.0, near)) + added;
}

/// From g = e^(|x| / 2) - 1, which does not overflow where the result does not: with h = g + 1 it is the product of
/// (h - 1 / h) / 2 and h + 1 / h, and the first factor is g + g / h without cancellation.
constexpr array sinh_value(const arrays& v) {
  const array &x = v[0], a = abs(x), g = expm1(a * 0.5), h = g + 1.0;
  const array tiny = a < (x.dtype() == f64 ? 0x1p-28 : 0x1p-13);
  const array size = (0.5 * (g + g / h)) * (h + 1.0 / h);
  const array large = a > 20.0, far = (0.5 * h) * h;  // where g / h is infinite / infinite at the end
  return select(tiny, x, sign(x) * select(large, far, size));
}
constexpr array sinh_slope(const arrays& v, const array&) { return cosh(v[0]); }

/// h^2 / 2 + 1 / (2 h^2) for h = e^(|x| / 2), which does not overflow where the result does not.
constexpr array cosh_value(const arrays& v) {
  const array h = exp(abs(v[0]) * 0.5);
  return (0.5 * h) * h + 0.5 / h / h;
}
constexpr array cosh_slope(const arrays& v, const array&) { return sinh(v[0]); }

/// log(a + sqrt(a^2 + 1)) for a = |x|, as log1p(a + a^2 / (1 + sqrt(a^2 + 1))).
constexpr array asinh_value(const arrays& v) {
  const array a = abs(v[0]), square = a * a;
  return sign(v[0]) * log_of_sum(a, a + square / (1.0 + sqrt(square + 1.0)));
}
constexpr array asinh_slope(const arrays& v, const array&) { return rsqrt(v[0] * v[0] + 1.0); }

/// log(x + sqrt(x^2 - 1)), as log1p(t + sqrt(t (t + 2))) for t = x - 1.
constexpr array acosh_value(const arrays& v) {
  const array &x = v[0], t = x - 1.0;
  const array value = log_of_sum(x, t + sqrt(t * (t + 2.0)));
  return select(x < 1.0, array(std::numeric_limits<double>::quiet_NaN(), x.type()), value);
}
constexpr array acosh_slope(const arrays& v, const array&) { return rsqrt((v[0] - 1.0) * (v[0] + 1.0)); }

/// log((1 + a) / (1 - a)) / 2 for a = |x|, as log1p(2 a / (1 - a)) / 2.
constexpr array atanh_value(const arrays& v) {
  const array a = abs(v[0]);
  return sign(v[0]) * (0.5 * log1p((a + a) / (1.0 - a)));
}
constexpr array atanh_slope(const arrays& v, const array&) { return 1.0 / ((1.0 - v[0]) * (1.0 + v[0])); }
}  // namespace detail

inline constexpr op sinh_p = detail::special({.name = "sinh",
                                              .stablehlo = "chlo.sinh",
                                              .compose = detail::special_compose<detail::sinh_value>,
                                              .vjp = detail::special_vjp<detail::sinh_slope>});
inline constexpr op cosh_p = detail::special({.name = "cosh",
                                              .stablehlo = "chlo.cosh",
                                              .compose = detail::special_compose<detail::cosh_value>,
                                              .vjp = detail::special_vjp<detail::cosh_slope>});
inline constexpr op asinh_p = detail::special({.name = "asinh",
                                               .stablehlo = "chlo.asinh",
                                               .compose = detail::special_compose<detail::asinh_value>,
                                               .vjp = detail::special_vjp<detail::asinh_slope>});
inline constexpr op acosh_p = detail::special({.name = "acosh",
                                               .stablehlo = "chlo.acosh",
                                               .compose = detail::special_compose<detail::acosh_value>,
                                               .vjp = detail::special_vjp<detail::acosh_slope>});
inline constexpr op atanh_p = detail::special({.name = "atanh",
                                               .stablehlo = "chlo.atanh",
                                               .compose = detail::special_compose<detail::atanh_value>,
                                               .vjp = detail::special_vjp<detail::atanh_slope>});

// Element by element, composed in f32 or in f64. Integers become f32 first. The bounds of errors are units in the last place
// of f32.

/// (e^x - e^-x) / 2, within 4.5 units, also near 0 and where e^x alone overflows.
///
/// dtypes  any float; integers become f32
/// source  jax.lax.sinh, jax.numpy.sinh
constexpr array sinh(const array& x, source_line l) { return detail::float_unary(described<sinh_p>(), x, l); }
/// (e^x + e^-x) / 2, within 3.5 units, also where e^x alone overflows.
/// source  jax.lax.cosh, jax.numpy.cosh
constexpr array cosh(const array& x, source_line l) { return detail::float_unary(described<cosh_p>(), x, l); }
/// The number with the hyperbolic sine x, within 2.5 units, also near 0 and where x^2 overflows.
/// source  jax.lax.asinh, jax.numpy.asinh
constexpr array asinh(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<asinh_p>(), x, l);
}
/// The number that is not negative and has the hyperbolic cosine x, within 2.5 units, also near 1; NaN below 1.
/// source  jax.lax.acosh, jax.numpy.acosh
constexpr array acosh(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<acosh_p>(), x, l);
}
/// The number with the hyperbolic tangent x, within 2.5 units; infinite at -1 and 1, NaN beyond.
/// source  jax.lax.atanh, jax.numpy.atanh
constexpr array atanh(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<atanh_p>(), x, l);
}

}  // namespace tokamax
