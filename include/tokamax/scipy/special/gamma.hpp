// tokamax/scipy/special/gamma.hpp: the logarithm of the gamma function and its derivatives: lgamma, digamma, polygamma, zeta.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/numpy/elementwise/exponential.hpp>  // pi
#include <tokamax/scipy/special/special_op.hpp>       // special

namespace tokamax {

namespace detail {

/// Lanczos' approximation with g = 7 and nine terms: gamma(z + 1) = sqrt(2 pi) t^(z + 1/2) e^-t A(z), t = z + 7.5.
inline constexpr double lanczos_first = 0.99999999999980993227684700473478;
inline constexpr double lanczos[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                                     771.3234287776530788486528258894,   -176.61502916214059906584551354,
                                     12.507343278686904814458936853,     -0.13857109526572011689554707,
                                     9.984369578019570859563e-6,         1.50563273514931155834e-7};

/// How far |x| is from the nearest integer.
constexpr array distance_to_integer(const array& x) {
  const array fraction = abs(x) - floor(abs(x));
  return minimum(fraction, 1.0 - fraction);
}
constexpr array lgamma_value(const arrays& operands) {
  const array& x = operands[0];
  const array reflected = x < 0.5;
  const array z = where(reflected, -x, x - 1.0);
  array sum = filled_like(x, lanczos_first);
  for (int i = 0; i < 8; ++i) sum = sum + lanczos[i] / (z + (i + 1.0));
  const array t = z + 7.5, log_t = 2.01490302054226470 + log1p(z / 7.5);
  const array direct = (z + 0.5 - t / log_t) * log_t + 0.918938533204672742 + log(sum);
  // gamma(x) gamma(1 - x) = pi / sin(pi x): infinite where x is 0 or a negative integer
  const array sine = log(sin(pi * distance_to_integer(x)));
  const array other = where(isfinite(sine), 1.14472988584940017 - sine - direct, -sine);
  return where(abs(x) == std::numeric_limits<double>::infinity(), infinity_like(x), where(reflected, other, direct));
}
constexpr array digamma_value(const arrays& operands) {
  const array& x = operands[0];
  const array reflected = x < 0.5;
  const array z = where(reflected, -x, x - 1.0);
  array numerator = zeros_like(x), denominator = filled_like(x, lanczos_first);
  for (int i = 0; i < 8; ++i) {
    const array term = lanczos[i] / (z + (i + 1.0));
    numerator = numerator - term / (z + (i + 1.0));
    denominator = denominator + term;
  }
  const array direct = 2.01490302054226470 + log1p(z / 7.5) + numerator / denominator - 7.0 / (z + 7.5);
  const array angle = pi * (x + abs(floor(x + 0.5)));
  const array value = where(reflected, direct - pi * cos(angle) / sin(angle), direct);
  return where(logical_and(x <= 0.0, x == floor(x)), nan_like(x), value);
}
/// sum (q + k)^-s by Euler's and Maclaurin's formula: nine terms, the integral of the others, and twelve corrections with
/// the numbers (2 k)! / B_2k.
constexpr array zeta_value(const arrays& operands) {
  constexpr double factors[] = {12.0,
                                -720.0,
                                30240.0,
                                -1209600.0,
                                47900160.0,
                                -1.8924375803183791606e9,
                                7.47242496e10,
                                -2.950130727918164224e12,
                                1.1646782814350067249e14,
                                -4.5979787224074726105e15,
                                1.8152105401943546773e17,
                                -7.1661652561756670113e18};
  const array &s = operands[0], &q = operands[1];
  array sum = power(q, -s), a = q, last = sum;
  for (int i = 0; i < 9; ++i) {
    a = a + 1.0;
    last = power(a, -s);
    sum = sum + last;
  }
  sum = sum + last * a / (s - 1.0) - last * 0.5;
  array factor = ones_like(s), term = last;
  for (int i = 0; i < 12; ++i) {
    factor = factor * (s + 2.0 * i);
    term = term / a;
    sum = sum + factor * term / factors[i];
    factor = factor * (s + (2.0 * i + 1.0));
    term = term / a;
  }
  // Large s underflow the factors' partner to 0 while the factors overflow: the first term is the sum then.
  sum = where(isfinite(sum), sum, power(q, -s));
  const array whole = q == floor(q), pole = where(whole, infinity_like(s), where(s == floor(s), sum, nan_like(s)));
  const array value = where(s < 1.0, nan_like(s), where(q <= 0.0, pole, sum));
  return where(s == 1.0, infinity_like(s), value);
}

constexpr array lgamma_slope(const arrays& x, const array& y);
constexpr array digamma_slope(const arrays& x, const array& y);
constexpr array zeta_slope(const arrays& x, const array& y);
}  // namespace detail

inline constexpr op lgamma_p = detail::special({.name = "lgamma",
                                                .stablehlo = "chlo.lgamma",
                                                .compose = detail::special_compose<detail::lgamma_value>,
                                                .vjp = detail::special_vjp<detail::lgamma_slope>});
inline constexpr op digamma_p = detail::special({.name = "digamma",
                                                 .stablehlo = "chlo.digamma",
                                                 .compose = detail::special_compose<detail::digamma_value>,
                                                 .vjp = detail::special_vjp<detail::digamma_slope>});
inline constexpr op zeta_p = detail::special({.name = "zeta",
                                              .stablehlo = "chlo.zeta",
                                              .compose = detail::special_compose<detail::zeta_value>,
                                              .vjp = detail::special_vjp<nullptr, detail::zeta_slope>});

/// log |gamma(x)|: infinite at 0 and at negative integers.
///
/// dtypes  any float, computed in f32, f64 in f64; integers become f32
/// source  Lanczos 1964; jax.lax.lgamma. Errors of f32 are below 2e-6 of max(1, |y|), those of f64 below 5e-15
constexpr array lgamma(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<lgamma_p>(), x, l);
}
/// The derivative of lgamma: NaN at 0 and at negative integers.
///
/// dtypes  any float, computed in f32, f64 in f64; integers become f32
/// source  jax.lax.digamma. Errors of f32 are below 3e-6 of max(1, |y|) for positive x, those of f64 below 1e-14
constexpr array digamma(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<digamma_p>(), x, l);
}
/// The sum of (q + k)^-s for k = 0, 1, ...: infinite at s = 1 and at q = 0, -1, ...; NaN where s is below 1, and where q is
/// negative and s no integer.
///
/// shapes  broadcast together
/// dtypes  any float, computed in f32, f64 in f64
/// errors  "zeta: derivative" by s
/// source  jax.lax.zeta. Errors of f32 are below 2e-6 of the value, those of f64 below 5e-15
constexpr array zeta(const array& s, const array& q, source_line l = source_line::current()) {
  return detail::special_binary(described<zeta_p>(), s, q, l);
}
/// The derivative of order n of digamma: (-1)^(n + 1) n! zeta(n + 1, x).
///
/// dtypes  any float; n is a whole number of any dtype
/// errors  "zeta: derivative" by n
/// source  jax.lax.polygamma
constexpr array polygamma(const array& n, const array& x, source_line l = source_line::current()) {
  array both[2] = {n, x};
  detail::unify_in_floats(described<zeta_p>(), both, l);
  const array &order = both[0], &at = both[1];
  const array even = floor(order * 0.5) * 2.0 == order;
  const array size = exp(lgamma(order + 1.0, l)) * zeta(order + 1.0, at, l);
  return where(order == 0.0, digamma(at, l), where(even, -size, size));
}

namespace detail {
constexpr array lgamma_slope(const arrays& x, const array&) { return digamma(x[0]); }
constexpr array digamma_slope(const arrays& x, const array&) { return zeta(full_like(x[0], 2), x[0]); }
constexpr array zeta_slope(const arrays& x, const array&) { return -x[0] * zeta(x[0] + 1.0, x[1]); }
}  // namespace detail

}  // namespace tokamax
