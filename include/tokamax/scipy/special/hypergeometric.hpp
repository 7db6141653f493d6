// tokamax/scipy/special/hypergeometric.hpp: the confluent hypergeometric function hyp1f1.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/scipy/special/gamma_functions.hpp>   // gammasgn
#include <tokamax/scipy/special/incomplete_gamma.hpp>  // goes_on

#include <array>  // array

namespace tokamax {

namespace detail {
/// `first` times the sum of (a)_k / (b)_k x^k / k!, which ends when no element changes any more.
constexpr array hyp1f1_series(const array& a, const array& b, const array& x, const array& first, const array& wanted) {
  using state = std::array<array, 5>;  // step, on, k, term, sum
  const double eps = rounding_unit(x);
  const state start{array(0.0, {i32, false, {}}), wanted, zeros_like(x), first, first};
  return while_loop([](const state& s) { return goes_on(s[0], s[1]); },
                    [&](const state& s) {
                      const array &k = s[2], term = s[3] * ((a + k) / (b + k) * (x / (k + 1.0)));
                      const array sum = s[4] + term, on = logical_and(s[1], abs(term) > 0.25 * eps * abs(sum));
                      return state{s[0] + 1, on, k + 1.0, term, where(s[1], sum, s[4])};
                    },
                    start)[4];
}
/// gamma(b) / gamma(b - a) y^-a times the sum of (a)_k (1 + a - b)_k / k! y^-k up to its smallest term, for x = -y below -60.
constexpr array hyp1f1_far(const array& a, const array& b, const array& y) {
  array term = ones_like(y), sum = term, falls = term > 0.0;
  for (int k = 0; k < 30; ++k) {
    const array next = term * ((a + static_cast<double>(k)) * (1.0 + a - b + static_cast<double>(k)) / (y * (k + 1.0)));
    falls = logical_and(falls, abs(next) < abs(term));
    sum = sum + where(falls, next, zeros_like(y));
    term = next;
  }
  const array signs = scipy::special::gammasgn(b) * scipy::special::gammasgn(b - a);
  return signs * exp(lgamma(b) - lgamma(b - a) - a * log(y)) * sum;
}
constexpr array hyp1f1_value(const arrays& v) {
  const array &a = v[0], &b = v[1], &x = v[2];
  const array pole = logical_and(b <= 0.0, b == floor(b)), finite = logical_and(isfinite(x), isfinite(a + b));
  const array far = x < -60.0, wanted = logical_and(logical_and(finite, logical_not(far)), logical_not(pole));
  // e^x of the function of b - a and -x has no terms of other sign for negative x; half of e^x comes first, against overflow
  const array turned = x < 0.0, half = where(turned, exp(where(far, zeros_like(x), 0.5 * x)), ones_like(x));
  const array near = where(wanted, x, zeros_like(x));
  const array series =
      half * hyp1f1_series(where(turned, b - a, a), where(wanted, b, ones_like(b)), abs(near), half, wanted);
  const array value = where(far, hyp1f1_far(a, b, where(far, -x, full_like(x, 60))), series);
  const array at_zero = logical_or(x == 0.0, a == 0.0);
  const array known = where(logical_and(at_zero, finite), ones_like(x), where(pole, infinity_like(x), value));
  return where(logical_and(finite, x == x), known, where(x == x, value, nan_like(x)));
}
constexpr array hyp1f1_slope_by_x(const arrays& v, const array&);
}  // namespace detail

inline constexpr op hyp1f1_p =
    detail::special({.name = "hyp1f1",
                     .compose = detail::special_compose<detail::hyp1f1_value>,
                     .vjp = detail::special_vjp<nullptr, nullptr, detail::hyp1f1_slope_by_x>});

}  // namespace tokamax

namespace tokamax::scipy::special {

/// Kummer's function 1F1(a; b; x), the sum of (a)_k / (b)_k x^k / k!.
///
///   d/dx 1F1(a; b; x) = a / b 1F1(a + 1; b + 1; x)
///
/// shapes  broadcast together
/// dtypes  any float, computed in f32, f64 in f64
/// errors  "hyp1f1: derivative" by a and b, which JAX has
/// source  jax.scipy.special.hyp1f1; Abramowitz and Stegun 13.1.2, 13.1.27, 13.5.1. For a and b of a few units; where terms of
///         both signs cancel, digits are lost
constexpr array hyp1f1(const array& a, const array& b, const array& x, source_line l = source_line::current()) {
  return tokamax::detail::special_ternary(described<hyp1f1_p>(), a, b, x, l);
}

}  // namespace tokamax::scipy::special

namespace tokamax::detail {
constexpr array hyp1f1_slope_by_x(const arrays& v, const array&) {
  return v[0] / v[1] * scipy::special::hyp1f1(v[0] + 1.0, v[1] + 1.0, v[2]);
}
}  // namespace tokamax::detail
