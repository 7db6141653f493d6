// tokamax/scipy/special/gamma_functions.hpp: functions made of gamma functions under SciPy's names: gamma, beta, comb and others.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/scipy/special/incomplete_beta.hpp>  // betainc, igamma, lgamma

namespace tokamax::scipy::special {

using tokamax::betainc;
using tokamax::digamma;
using tokamax::polygamma;
using tokamax::zeta;

/// log |gamma(x)|
/// source  jax.scipy.special.gammaln, and loggamma of real arguments
constexpr array gammaln(const array& x, source_line l = source_line::current()) { return lgamma(x, l); }
constexpr array loggamma(const array& x, source_line l = source_line::current()) { return lgamma(x, l); }
/// The sign of the gamma function: NaN at negative integers, that of the zero at zeros.
/// source  jax.scipy.special.gammasgn
constexpr array gammasgn(const array& x, source_line = source_line::current()) {
  const array v = tokamax::detail::in_floats(x), whole = floor(v);
  const array odd = whole - floor(whole * 0.5) * 2.0;  // 1 where the integer below x is odd
  const array side = where(logical_or(v > 0.0, odd == 0.0), ones_like(v), -ones_like(v));
  const array at_zero = where(1.0 / v > 0.0, ones_like(v), -ones_like(v));
  const array value = where(v == 0.0, at_zero, side);
  const array pole = logical_and(v < 0.0, whole == v);
  return where(logical_or(pole, v != v), tokamax::detail::nan_like(v), value);
}
/// The gamma function.
///
/// dtypes  any float, computed in f32, f64 in f64; integers become f32
/// source  jax.scipy.special.gamma. The error is that of lgamma times its value
constexpr array gamma(const array& x, source_line l = source_line::current()) {
  return gammasgn(x, l) * exp(lgamma(x, l));
}
/// gamma(n + 1), and 0 of a negative n.
/// source  jax.scipy.special.factorial
constexpr array factorial(const array& n, source_line l = source_line::current()) {
  const array v = tokamax::detail::in_floats(n), below = v < 0.0;
  return where(below, zeros_like(v), exp(lgamma(where(below, zeros_like(v), v) + 1.0, l)));
}
/// log |gamma(a) gamma(b) / gamma(a + b)|, and without the logarithm.
/// source  jax.scipy.special.betaln, jax.scipy.special.beta
constexpr array betaln(const array& a, const array& b, source_line l = source_line::current()) {
  return lgamma(a, l) + lgamma(b, l) - lgamma(a + located(b, l), l);
}
constexpr array beta(const array& a, const array& b, source_line l = source_line::current()) {
  return gammasgn(a) * gammasgn(b) * gammasgn(a + located(b, l)) * exp(betaln(a, b, l));
}
/// The number of ways to take k of n things: 0 where k is outside of 0 ... n.
/// source  jax.scipy.special.comb
constexpr array comb(const array& n, const array& k, source_line l = source_line::current()) {
  const array a = tokamax::detail::in_floats(n), b = tokamax::detail::in_floats(k);
  const array inside = logical_and(b >= 0.0, b <= a), taken = where(inside, b, zeros_like(b));
  const array all = where(inside, a, zeros_like(a));
  const array ways = exp(lgamma(all + 1.0, l) - lgamma(taken + 1.0, l) - lgamma(all - taken + 1.0, l));
  return where(inside, ways, zeros_like(ways));
}
/// gamma(z + m) / gamma(z), the rising factorial.
/// source  jax.scipy.special.poch
constexpr array poch(const array& z, const array& m, source_line l = source_line::current()) {
  const array none = m == 0.0, sum = z + located(m, l);
  const array value = gammasgn(sum) * gammasgn(z) * exp(lgamma(sum, l) - lgamma(z, l));
  return where(none, ones_like(value), value);
}
/// log of the gamma function of d dimensions: d (d - 1) / 4 log(pi) + sum lgamma(a - j / 2) for j = 0 ... d - 1.
/// source  jax.scipy.special.multigammaln
constexpr array multigammaln(const array& a, int d, source_line l = source_line::current()) {
  array sum = lgamma(a, l);
  for (int j = 1; j < d; ++j) sum = sum + lgamma(a - 0.5 * j, l);
  return sum + 0.25 * d * (d - 1) * 1.1447298858494002;
}
/// The regularized incomplete gamma functions, lower and upper.
/// source  jax.scipy.special.gammainc, jax.scipy.special.gammaincc
constexpr array gammainc(const array& a, const array& x, source_line l = source_line::current()) {
  return igamma(a, x, l);
}
constexpr array gammaincc(const array& a, const array& x, source_line l = source_line::current()) {
  return igammac(a, x, l);
}
/// The first n + 1 Bernoulli numbers, with B_1 = -1/2: B_k = (-1)^(k/2 + 1) 2 k! zeta(k) / (2 pi)^k for even k.
/// source  jax.scipy.special.bernoulli
constexpr array bernoulli(int n, source_line l = source_line::current()) {
  const array k = iota(f32, {n + 1}, 0, l), safe = maximum(k, array(2.0));
  const array size =
      2.0 * exp(lgamma(safe + 1.0) - safe * 1.8378770664093454836) * tokamax::zeta(safe, ones_like(safe), l);
  const array half = floor(k * 0.5), even = half * 2.0 == k;
  const array side = where(floor(half * 0.5) * 2.0 == half, -ones_like(k), ones_like(k));
  const array later = where(even, side * size, zeros_like(k));
  return where(k == 0.0, ones_like(k), where(k == 1.0, full_like(k, -0.5), later));
}

}  // namespace tokamax::scipy::special
