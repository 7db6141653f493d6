// tokamax/scipy/special/integrals.hpp: exponential integrals and the dilogarithm: exp1, expi, spence.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/scipy/special/special_op.hpp>           // special
#include <tokamax/transforms/control_flow/fori_loop.hpp>  // fori_loop

#include <utility>  // pair

namespace tokamax {

namespace detail {
inline constexpr double euler_gamma = 0.57721566490153286061;
inline constexpr double pi_squared_over_6 = 1.64493406684822643647;

/// The sum of x^k / (k k!) for k = 1, 2, ...
constexpr array exponential_series(const array& x, int terms) {
  using state = std::pair<array, array>;
  const state end = fori_loop(
      0, terms,
      [&](const array& i, const state& s) {
        const array k = astype(i, x.dtype()) + 1.0, power = s.first * x / k;
        return state{power, s.second + power / k};
      },
      state{ones_like(x), zeros_like(x)});
  return end.second;
}
/// e^-x / (x + 1 - 1 / (x + 3 - 4 / (x + 5 - ...))), from its end: for x >= 1.
constexpr array exponential_fraction(const array& x, int depth) {
  const array rest = fori_loop(
      0, depth,
      [&](const array& i, const array& r) {
        const array k = static_cast<double>(depth) - astype(i, x.dtype());
        return x + 2.0 * k - 1.0 - k * k / r;
      },
      x + (2.0 * depth + 1.0));
  return exp(-x) / rest;
}
constexpr array exp1_value(const arrays& v) {
  const array &x = v[0], near = x <= 1.0;
  const bool wide = x.dtype() == f64;
  const array low = where(logical_and(near, x > 0.0), x, ones_like(x)), high = where(near, ones_like(x), x);
  const array small = -euler_gamma - log(low) - exponential_series(-low, wide ? 20 : 12);
  const array value = where(near, small, exponential_fraction(high, wide ? 120 : 30));
  const array at_end = where(x == std::numeric_limits<double>::infinity(), zeros_like(x), value);
  return where(x == 0.0, infinity_like(x), where(x > 0.0, at_end, nan_like(x)));
}
constexpr array exp1_slope(const arrays& v, const array&) { return -exp(-v[0]) / v[0]; }

/// -E1(-x) at the left; at the right a series, and far out e^x / x (1 + 1! / x + 2! / x^2 + ...).
constexpr array expi_value(const arrays& v) {
  const array& x = v[0];
  const bool wide = x.dtype() == f64;
  const double bound = wide ? 40 : 22;
  const array far = x > bound, low = where(logical_and(x > 0.0, logical_not(far)), x, ones_like(x));
  const array middle = euler_gamma + log(low) + exponential_series(low, wide ? 140 : 80);
  const array high = where(far, x, full_like(x, bound));
  array sum = ones_like(x);
  for (int k = wide ? 36 : 16; k > 0; --k) sum = 1.0 + sum * static_cast<double>(k) / high;
  const array value = where(far, exp(high) / high * sum, middle);
  const array left = -exp1_value(arrays(where(x < 0.0, -x, ones_like(x))));
  const array right = where(x == std::numeric_limits<double>::infinity(), x, value);
  return where(x == 0.0, -infinity_like(x), where(x < 0.0, left, where(x != x, x, right)));
}
constexpr array expi_slope(const arrays& v, const array&) { return exp(v[0]) / v[0]; }

/// The dilogarithm of 1 - z. For z = e^-u near 1 it is u - u^2 / 4 + sum B_2k u^(2k + 1) / (2k + 1)!; other z are brought there.
constexpr array spence_value(const arrays& v) {
  constexpr double terms[] = {1.0 / 36,        -1.0 / 3600,     1.0 / 211680,
                              -1.0 / 10886400, 1.0 / 526901760, -691.0 / 16999766784000.0};
  const array &z = v[0], large = z > 2.0;
  const array positive = where(z > 0.0, z, ones_like(z)), w = where(large, 1.0 / positive, positive);
  const array small = w < 0.5, near = where(small, 1.0 - w, w);  // 1/2 ... 2
  const array u = -log(near), s = u * u;
  array sum = zeros_like(u);
  for (int k = 5; k >= 0; --k) sum = sum * s + terms[k];
  const array base = u - s * 0.25 + u * s * sum;
  const array low = where(small, w, full_like(w, 0.25));
  const array of_w = where(small, pi_squared_over_6 - log(low) * log1p(-low) - base, base), log_z = log(positive);
  const array value = where(large, -of_w - 0.5 * log_z * log_z, of_w);
  return where(z == 0.0, full_like(z, pi_squared_over_6), where(z > 0.0, value, nan_like(z)));
}
/// log(z) / (1 - z), which is -1 at 1.
constexpr array spence_slope(const arrays& v, const array&) {
  const array one = v[0] == 1.0, safe = where(one, full_like(v[0], 2), v[0]);
  return where(one, full_like(v[0], -1), log(safe) / (1.0 - safe));
}
}  // namespace detail

inline constexpr op exp1_p = detail::special({.name = "exp1",
                                              .compose = detail::special_compose<detail::exp1_value>,
                                              .vjp = detail::special_vjp<detail::exp1_slope>});
inline constexpr op expi_p = detail::special({.name = "expi",
                                              .compose = detail::special_compose<detail::expi_value>,
                                              .vjp = detail::special_vjp<detail::expi_slope>});
inline constexpr op spence_p = detail::special({.name = "spence",
                                                .compose = detail::special_compose<detail::spence_value>,
                                                .vjp = detail::special_vjp<detail::spence_slope>});

}  // namespace tokamax

namespace tokamax::scipy::special {

/// The integral of e^-t / t from x on: infinite at 0, NaN of negative x.
/// source  Abramowitz and Stegun 5.1.11, 5.1.22; jax.scipy.special.exp1
constexpr array exp1(const array& x, source_line l = source_line::current()) {
  return tokamax::detail::float_unary(described<exp1_p>(), x, l);
}
/// The principal value of the integral of e^t / t up to x.
/// source  Abramowitz and Stegun 5.1.10, 5.1.51; jax.scipy.special.expi
constexpr array expi(const array& x, source_line l = source_line::current()) {
  return tokamax::detail::float_unary(described<expi_p>(), x, l);
}
/// The integral of log(t) / (1 - t) from 1 to z, which is the dilogarithm of 1 - z.
/// source  jax.scipy.special.spence
constexpr array spence(const array& z, source_line l = source_line::current()) {
  return tokamax::detail::float_unary(described<spence_p>(), z, l);
}

}  // namespace tokamax::scipy::special
