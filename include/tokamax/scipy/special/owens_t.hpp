// tokamax/scipy/special/owens_t.hpp: how likely one normal variable is above h and another one between 0 and a times it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/numpy/elementwise/exponential.hpp>  // pi
#include <tokamax/scipy/special/error_functions.hpp>  // erfc

namespace tokamax {

namespace detail {
/// Positive nodes and weights of the rule of Gauss and Legendre with 24 points.
inline constexpr double legendre_nodes[] = {0.06405689286260563, 0.1911188674736163, 0.3150426796961634,
                                            0.4337935076260451,  0.5454214713888396, 0.6480936519369755,
                                            0.7401241915785544,  0.820001985973903,  0.8864155270044011,
                                            0.9382745520027328,  0.9747285559713095, 0.9951872199970213};
inline constexpr double legendre_weights[] = {0.12793819534675202, 0.12583745634682825, 0.1216704729278033,
                                              0.11550566805372552, 0.10744427011596556, 0.09761865210411393,
                                              0.0861901615319532,  0.07334648141108016, 0.05929858491543636,
                                              0.04427743881741941, 0.02853138862893356, 0.01234122979998869};

/// The integral of e^(-h^2 (1 + x^2) / 2) / (1 + x^2) / (2 pi) from 0 to a, for 0 <= a <= 1 and h >= 0. It ends where nothing
/// is left of the exponential.
constexpr array owens_integral(const array& h, const array& a) {
  const array steep = h * a > 8.5, half = 0.5 * where(steep, 8.5 / where(steep, h, ones_like(h)), a);
  array sum = zeros_like(h);
  for (int k = 0; k < 12; ++k)
    for (const double node : {-legendre_nodes[k], legendre_nodes[k]}) {
      const array x = half * (1.0 + node), one = 1.0 + x * x;
      sum = sum + legendre_weights[k] * exp(-0.5 * (h * h) * one) / one;
    }
  return sum * half * (0.5 / pi);
}
constexpr array owens_t_value(const arrays& v) {
  const double inf = std::numeric_limits<double>::infinity(), root_half = 0.70710678118654752440;
  const array h = abs(v[0]), a = abs(v[1]), large = a > 1.0;
  const array none = h == inf, wide = where(none, ones_like(h), h);
  const array ratio = where(large, a, ones_like(a));
  const array product = where(wide == 0.0, wide, wide * ratio);  // 0 also where the ratio is infinite
  const array reach = where(product == inf, full_like(h, 100), product);
  const array low = owens_integral(where(large, reach, wide), where(large, 1.0 / ratio, a));
  const array p = 0.5 * erfc(root_half * wide), q = 0.5 * erfc(root_half * product);
  const array value = where(large, 0.5 * (p + q) - p * q - low, low);
  const array known = where(none, zeros_like(h), value);
  return where(logical_or(v[0] != v[0], v[1] != v[1]), nan_like(h), sign(v[1]) * known);
}
constexpr array owens_t_slope_by_h(const arrays& v, const array&) {
  const array &h = v[0], reach = v[1] * h * 0.70710678118654752440;
  return exp(-0.5 * h * h) * erf(reach) * -0.19947114020071633897;  // 1 / sqrt(8 pi)
}
constexpr array owens_t_slope_by_a(const arrays& v, const array&) {
  const array one = 1.0 + v[1] * v[1];
  return exp(-0.5 * v[0] * v[0] * one) / one * (0.5 / pi);
}
}  // namespace detail

inline constexpr op owens_t_p =
    detail::special({.name = "owens_t",
                     .compose = detail::special_compose<detail::owens_t_value>,
                     .vjp = detail::special_vjp<detail::owens_t_slope_by_h, detail::owens_t_slope_by_a>});

}  // namespace tokamax

namespace tokamax::scipy::special {

/// Owen's T function: the probability that a normal variable is above h and another one between 0 and a times it.
///
///   T(h, a) = 1 / (2 pi) * integral of e^(-h^2 (1 + x^2) / 2) / (1 + x^2) from 0 to a
///
/// shapes  broadcast together
/// dtypes  any float, computed in f32, f64 in f64
/// source  jax.scipy.special.owens_t; Owen 1956, eq. 2.3 for |a| > 1, and the rule of Gauss and Legendre with 24 points
constexpr array owens_t(const array& h, const array& a, source_line l = source_line::current()) {
  return tokamax::detail::special_binary(described<owens_t_p>(), h, a, l);
}

}  // namespace tokamax::scipy::special
