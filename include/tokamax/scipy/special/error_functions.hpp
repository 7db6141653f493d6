// tokamax/scipy/special/error_functions.hpp: the error function and the normal distribution: erfc, erfcx, ndtri, log_ndtr, dawsn.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/lax/elementwise/division.hpp>           // clamp
#include <tokamax/scipy/special/special_op.hpp>           // special
#include <tokamax/transforms/control_flow/fori_loop.hpp>  // fori_loop

namespace tokamax {

namespace detail {
inline constexpr double log_root_two_pi = 0.91893853320467274178;

/// The logarithm of the distribution: of 1 - cdf(-x) at the right, of the cdf in the middle, and -x^2 / 2 - log(-x) with the
/// first terms of an asymptotic series at the left.
constexpr array log_ndtr_value(const arrays& v) {
  const array& x = v[0];
  const double left = x.dtype() == f64 ? -20 : -8, right = x.dtype() == f64 ? 8 : 5;
  const array tail = minimum(x, array(left)), square = 1.0 / (tail * tail);
  const array series = -square + square * square * (3.0 - square * (15.0 - square * (105.0 - square * 945.0)));
  const array low = -0.5 * tail * tail - log(-tail) - log_root_two_pi + log1p(series);
  const array middle = log(normal_cdf(clamp(array(left), x, array(right))));
  const array value = where(x < left, low, where(x > right, -normal_cdf(-x), middle));
  return where(x != x, x, value);
}
constexpr array log_ndtr_slope(const arrays& v, const array& y) {
  return exp(-0.5 * v[0] * v[0] - log_root_two_pi - y);
}

/// Three Newton steps on the logarithm of the distribution, from a rational function (Abramowitz and Stegun 26.2.23).
constexpr array ndtri_value(const arrays& v) {
  const array& p = v[0];
  const array upper = p > 0.5, q = where(upper, 1.0 - p, p);  // the tail
  const array inside = logical_and(q > 0.0, q < 1.0), safe = where(inside, q, full_like(q, 0.25)), wanted = log(safe);
  const array t = sqrt(-2.0 * wanted);
  array x = (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  for (int step = 0; step < 3; ++step) {
    const array found = log_ndtr_value(x);
    x = x - (found - wanted) * exp(found + 0.5 * x * x + log_root_two_pi);
  }
  const array value = where(upper, -x, x), inf = infinity_like(p);
  return where(inside, value, where(p == 0.0, -inf, where(p == 1.0, inf, nan_like(p))));
}
constexpr array ndtri_slope(const arrays&, const array& y) { return exp(0.5 * y * y + log_root_two_pi); }

/// e^(x^2) erfc(x): below 2 as it stands, and beyond by a continued fraction, from its end.
constexpr array erfcx_value(const arrays& v) {
  const array &x = v[0], far = x > 2.0;
  const array low = where(far, zeros_like(x), x), high = where(far, x, full_like(x, 2));
  const int depth = x.dtype() == f64 ? 80 : 20;
  const array rest = fori_loop(
      0, depth,
      [&](const array& i, const array& r) {
        return high + 0.5 * (static_cast<double>(depth) - astype(i, x.dtype())) / r;
      },
      high);
  const array near = exp(low * low) * 2.0 * normal_cdf(low * -1.4142135623730950488);
  return where(far, 0.56418958354775628695 / rest, near);
}
constexpr array erfcx_slope(const arrays& v, const array& y) { return 2.0 * v[0] * y - 1.1283791670955125739; }

/// Rybicki's method: sums of Gaussians at odd multiples of h, of which those near x count. Its error is e^-(pi / 2h)^2.
constexpr array dawsn_value(const arrays& v) {
  const array x = abs(v[0]), near = x < 0.25;
  const double h = x.dtype() == f64 ? 0.25 : 0.4;
  const int terms = x.dtype() == f64 ? 14 : 6;
  const array big = minimum(where(near, ones_like(x), x), array(x.dtype() == f64 ? 1e8 : 1e4));
  const array even = 2.0 * round(big * (0.5 / h)), rest = big - even * h;
  array sum = zeros_like(x);
  for (int k = 0; k < terms; ++k) {
    const double n = 2 * k + 1;
    const array right = rest - n * h, left = rest + n * h;
    sum = sum + exp(-(right * right)) / (even + n) + exp(-(left * left)) / (even - n);
  }
  const array s = x * x;
  const array series =
      x * (1.0 - s * (2.0 / 3) *
                     (1.0 - s * 0.4 *
                                (1.0 - s * (2.0 / 7) *
                                           (1.0 - s * (2.0 / 9) *
                                                      (1.0 - s * (2.0 / 11) *
                                                                 (1.0 - s * (2.0 / 13) * (1.0 - s * (2.0 / 15))))))));
  const array value = where(near, series, where(x > big, 0.5 / x, sum * 0.56418958354775628695));
  return where(v[0] < 0.0, -value, value);
}
constexpr array dawsn_slope(const arrays& v, const array& y) { return 1.0 - 2.0 * v[0] * y; }
}  // namespace detail

inline constexpr op log_ndtr_p = detail::special({.name = "log_ndtr",
                                                  .compose = detail::special_compose<detail::log_ndtr_value>,
                                                  .vjp = detail::special_vjp<detail::log_ndtr_slope>});
inline constexpr op ndtri_p = detail::special({.name = "ndtri",
                                               .compose = detail::special_compose<detail::ndtri_value>,
                                               .vjp = detail::special_vjp<detail::ndtri_slope>});
inline constexpr op erfcx_p = detail::special({.name = "erfcx",
                                               .compose = detail::special_compose<detail::erfcx_value>,
                                               .vjp = detail::special_vjp<detail::erfcx_slope>});
inline constexpr op dawsn_p = detail::special({.name = "dawsn",
                                               .compose = detail::special_compose<detail::dawsn_value>,
                                               .vjp = detail::special_vjp<detail::dawsn_slope>});

/// 1 - erf(x), without cancellation.
/// dtypes  any float; integers become f32
/// source  jax.lax.erfc. Errors are 2 x^2 roundings of the value in f32 or f64, because x is multiplied by the root of 2
constexpr array erfc(const array& x, source_line l = source_line::current()) {
  return detail::rounded_once(detail::in_floats(x),
                              [&](const array& v) { return 2.0 * normal_cdf(v * -1.4142135623730950488, l); });
}

}  // namespace tokamax

namespace tokamax::scipy::special {

using tokamax::erf;
using tokamax::erfc;

/// The inverse of erf.
/// source  jax.scipy.special.erfinv
constexpr array erfinv(const array& x, source_line l = source_line::current()) { return erf_inv(x, l); }
/// e^(x^2) erfc(x), which neither overflows nor vanishes at the right.
/// source  jax.scipy.special.erfcx
constexpr array erfcx(const array& x, source_line l = source_line::current()) {
  return tokamax::detail::float_unary(described<erfcx_p>(), x, l);
}
/// The distribution of a standard normal variable.
/// source  jax.scipy.special.ndtr
constexpr array ndtr(const array& x, source_line l = source_line::current()) { return normal_cdf(x, l); }
/// Its logarithm, also far at the left.
/// source  jax.scipy.special.log_ndtr. Errors of f32 are below 2e-6 of max(1, |y|)
constexpr array log_ndtr(const array& x, source_line l = source_line::current()) {
  return tokamax::detail::float_unary(described<log_ndtr_p>(), x, l);
}
/// Its inverse: infinite at 0 and 1, NaN outside.
/// source  jax.scipy.special.ndtri. Errors of f32 are below 2e-6 of max(1, |y|) for the smallest p, too
constexpr array ndtri(const array& p, source_line l = source_line::current()) {
  return tokamax::detail::float_unary(described<ndtri_p>(), p, l);
}
/// Dawson's integral: e^(-x^2) times the integral of e^(t^2) from 0 to x.
/// source  Rybicki 1989; jax.scipy.special.dawsn
constexpr array dawsn(const array& x, source_line l = source_line::current()) {
  return tokamax::detail::float_unary(described<dawsn_p>(), x, l);
}

}  // namespace tokamax::scipy::special
