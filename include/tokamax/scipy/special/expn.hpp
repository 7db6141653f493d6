// tokamax/scipy/special/expn.hpp: exponential integrals of any order.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/scipy/special/gamma.hpp>                // lgamma, digamma
#include <tokamax/transforms/control_flow/fori_loop.hpp>  // fori_loop

#include <array>  // array

namespace tokamax {

namespace detail {
/// E_n(x) for 0 < x <= 1 and n >= 1: (-x)^(n - 1) / (n - 1)! (digamma(n) - log(x)) and the sum of
/// -(-x)^m / (m! (m - n + 1)) without the term of m = n - 1.
constexpr array expn_series(const array& n, const array& x, int terms) {
  using state = std::array<array, 3>;  // (-x)^m / m!, the sum, x
  const state end = fori_loop(
      0, terms,
      [&](const array& i, const state& s) {
        const array m = astype(i, x.dtype()), below = m - n + 1.0, own = below == 0.0;
        const array sum = s[1] - where(own, zeros_like(x), s[0] / where(own, ones_like(x), below));
        return state{s[0] * -s[2] / (m + 1.0), sum, s[2]};
      },
      state{ones_like(x), zeros_like(x), x});
  const array odd = n - 2.0 * floor(n * 0.5) == 1.0;
  const array size = exp((n - 1.0) * log(x) - lgamma(n));
  return where(odd, size, -size) * (digamma(n) - log(x)) + end[1];
}
/// e^-x / (x + n - 1 n / (x + n + 2 - 2 (n + 1) / (x + n + 4 - ...))), from its end: for x above 1.
constexpr array expn_fraction(const array& n, const array& x, int depth) {
  const array rest = fori_loop(
      0, depth,
      [&](const array& i, const array& r) {
        const array k = static_cast<double>(depth) - astype(i, x.dtype());
        return x + n + 2.0 * (k - 1.0) - k * (n + k - 1.0) / r;
      },
      x + n + 2.0 * depth);
  return exp(-x) / rest;
}
constexpr array expn_value(const arrays& v) {
  const double inf = std::numeric_limits<double>::infinity();
  const array &n = v[0], &x = v[1];
  const bool wide = x.dtype() == f64;
  const array valid = logical_and(logical_and(n >= 0.0, n == floor(n)), x >= 0.0);
  const array inside = logical_and(logical_and(valid, n > 0.0), logical_and(logical_and(x > 0.0, x < inf), n < inf));
  const array order = where(inside, n, ones_like(n)), at = where(inside, x, ones_like(x)), near = at <= 1.0;
  const array low = expn_series(order, where(near, at, ones_like(x)), wide ? 20 : 12);
  const array high = expn_fraction(order, where(near, full_like(x, 2), at), wide ? 120 : 30);
  const array at_zero = where(n > 1.0, 1.0 / where(n > 1.0, n - 1.0, ones_like(n)), infinity_like(x));
  const array first = exp(-x) / where(x == 0.0, ones_like(x), x);
  const array edge = where(x == 0.0, at_zero, where(n == 0.0, first, zeros_like(x)));
  return where(inside, where(near, low, high), where(valid, edge, nan_like(x)));
}
constexpr array expn_slope_by_x(const arrays& v, const array&);
}  // namespace detail

inline constexpr op expn_p = detail::special({.name = "expn",
                                              .compose = detail::special_compose<detail::expn_value>,
                                              .vjp = detail::special_vjp<nullptr, detail::expn_slope_by_x>});

}  // namespace tokamax

namespace tokamax::scipy::special {

/// E_n(x) = x^(n - 1) times the integral of e^-t / t^n from x on, for whole n from 0 on: 1 / (n - 1) at 0, or infinite for n
/// of 0 and 1. NaN of other n and of negative x.
///
///   dE_n / dx = -E_(n - 1)(x)
///
/// shapes  broadcast together
/// dtypes  any float, computed in f32, f64 in f64
/// errors  "expn: derivative" by n
/// source  jax.scipy.special.expn; Abramowitz and Stegun 5.1.12 up to 1, 5.1.22 beyond
constexpr array expn(const array& n, const array& x, source_line l = source_line::current()) {
  return tokamax::detail::special_binary(described<expn_p>(), n, x, l);
}

}  // namespace tokamax::scipy::special

namespace tokamax::detail {
/// That of E_0 = e^-x / x is -E_0 (1 + 1 / x).
constexpr array expn_slope_by_x(const arrays& v, const array& y) {
  const array first = v[0] == 0.0, below = where(first, v[0], v[0] - 1.0);
  return where(first, -y * (1.0 + 1.0 / v[1]), -scipy::special::expn(below, v[1]));
}
}  // namespace tokamax::detail
