// tokamax/scipy/special/incomplete_beta.hpp: the regularized incomplete beta function.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/scipy/special/incomplete_gamma.hpp>  // goes_on, lgamma

namespace tokamax {

namespace detail {
/// log B(a, b)
constexpr array log_beta(const array& a, const array& b) { return lgamma(a) + lgamma(b) - lgamma(a + b); }

/// The continued fraction of Abramowitz and Stegun 26.5.8 by Lentz's method. It converges fast where x <= (a + 1) / (a + b + 2).
constexpr array beta_fraction(const array& a, const array& b, const array& x, const array& wanted) {
  using state = std::array<array, 5>;  // step, on, c, d, value
  const array one = ones_like(a);
  const double eps = rounding_unit(a), tiny = 1e-30;
  const auto away_from_zero = [&](const array& v) { return where(abs(v) < tiny, full_like(v, tiny), v); };
  const array first = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
  const state end =
      while_loop([](const state& s) { return goes_on(s[0], s[1]); },
                 [&](const state& s) {
                   const array m = astype(s[0] + 1, a.dtype());
                   const array even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
                   const array odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
                   const array d1 = 1.0 / away_from_zero(1.0 + even * s[3]), c1 = away_from_zero(1.0 + even / s[2]);
                   const array d2 = 1.0 / away_from_zero(1.0 + odd * d1), c2 = away_from_zero(1.0 + odd / c1);
                   const array step = c2 * d2;
                   return state{s[0] + 1, logical_and(s[1], abs(step - 1.0) > eps), c2, d2,
                                where(s[1], s[4] * (c1 * d1) * step, s[4])};
                 },
                 state{array(0.0, {i32, false, {}}), wanted, one, first, first});
  return end[4];
}
constexpr array betainc_value(const arrays& operands) {
  const array &a = operands[0], &b = operands[1], &x = operands[2];
  const array valid = logical_and(logical_and(a > 0.0, b > 0.0), logical_and(x >= 0.0, x <= 1.0));
  const array inside = logical_and(valid, logical_and(x > 0.0, x < 1.0));
  const array x_inside = logical_and(x > 0.0, x < 1.0);
  const array all_at_zero = logical_and(x_inside, logical_and(a == 0.0, b > 0.0));  // the limits of the parameters
  const array all_at_one = logical_and(x_inside, logical_and(b == 0.0, a > 0.0));
  const array sa = where(inside, a, ones_like(a)), sb = where(inside, b, ones_like(b)),
              sx = where(inside, x, full_like(x, 0.5));
  // I_x(a, b) = 1 - I_(1 - x)(b, a), where that converges faster
  const array turned = sx > (sa + 1.0) / (sa + sb + 2.0);
  const array p = where(turned, sb, sa), q = where(turned, sa, sb), z = where(turned, 1.0 - sx, sx);
  const array scale = exp(sa * log(sx) + sb * log1p(-sx) - log_beta(sa, sb)) / p;
  const array part = scale * beta_fraction(p, q, z, inside);
  const array value = where(turned, 1.0 - part, part);
  const array limit = where(all_at_zero, ones_like(x), where(all_at_one, zeros_like(x), nan_like(x)));
  return where(inside, value, where(valid, x, limit));
}
constexpr array betainc_slope(const arrays& v, const array&) {
  return exp((v[0] - 1.0) * log(v[2]) + (v[1] - 1.0) * log1p(-v[2]) - log_beta(v[0], v[1]));
}
}  // namespace detail

inline constexpr op regularized_incomplete_beta_p =
    detail::special({.name = "regularized_incomplete_beta",
                     .stablehlo = "chlo.regularized_incomplete_beta",
                     .compose = detail::special_compose<detail::betainc_value>,
                     .vjp = detail::special_vjp<nullptr, nullptr, detail::betainc_slope>});

/// I_x(a, b): the integral of t^(a - 1) (1 - t)^(b - 1) from 0 to x, divided by that from 0 to 1. NaN where a or b is
/// negative, and where x is outside of 0 ... 1.
///
/// shapes  broadcast together
/// dtypes  any float, computed in f32, f64 in f64
/// errors  "regularized_incomplete_beta: derivative" by a and b, which JAX does not have either
/// source  jax.lax.betainc. Errors are those of x^a (1 - x)^b / B(a, b): for f32 below 3e-5 of the value up to a + b = 100
constexpr array betainc(const array& a, const array& b, const array& x, source_line l = source_line::current()) {
  return detail::special_ternary(described<regularized_incomplete_beta_p>(), a, b, x, l);
}

}  // namespace tokamax
