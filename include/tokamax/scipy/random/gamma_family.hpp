// tokamax/scipy/random/gamma_family.hpp: samples made of gamma ones: beta, chisquare, dirichlet, f, t, generalized_normal, ball.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/random/gamma.cpp
#pragma once

#include <tokamax/ops/softmax.hpp>           // softmax
#include <tokamax/random/distributions.hpp>  // rademacher
#include <tokamax/scipy/random/gamma.hpp>    // gamma, loggamma

namespace tokamax::random {

/// x / (x + y) of two gamma samples with parameters a and b: a number in 0 ... 1 with density x^(a - 1) (1 - x)^(b - 1) / B(a, b).
///
/// shapes  a and b broadcast to s, which is their shape together if it is {}
/// dtypes  f32, f64, f16 or bf16
/// errors  "beta: shape", "gamma: dtype"
/// source  jax.random.beta, by logarithms, so that small parameters do not give 0 / 0
constexpr array beta(const key& k, const array& a, const array& b, const shape& s = {}, dtype type = f32,
                     source_line l = source_line::current()) {
  const auto [key_a, key_b] = split(k, l);
  const shape to = detail::sample_shape("beta: shape", s, a, b, l);
  const array x = loggamma(key_a, broadcast_to(astype(a, type), to, l), to, type, l),
              y = loggamma(key_b, broadcast_to(astype(b, type), to, l), to, type, l);
  const array most = maximum(x, y), p = exp(x - most), q = exp(y - most);
  return p / (p + q);
}
/// The sum of the squares of `df` normal samples, for any real df.
///
/// shapes  df broadcasts to s, which is its shape if it is {}
/// source  jax.random.chisquare
constexpr array chisquare(const key& k, const array& df, const shape& s = {}, dtype type = f32,
                          source_line l = source_line::current()) {
  return exp(loggamma(k, astype(df, type) / 2.0, s, type, l)) * 2.0;
}
/// The ratio of two means of squares, of dfnum and of dfden normal samples.
///
/// shapes  dfnum and dfden broadcast to s, which is their shape together if it is {}
/// errors  "f: shape"
/// source  jax.random.f
constexpr array f(const key& k, const array& dfnum, const array& dfden, const shape& s = {}, dtype type = f32,
                  source_line l = source_line::current()) {
  const shape to = detail::sample_shape("f: shape", s, dfnum, dfden, l);
  const array m = astype(dfnum, type), n = astype(dfden, type);
  const auto [key_den, key_num] = split(k, l);
  const array upper = chisquare(key_num, broadcast_to(m, to, l), to, type, l),
              lower = chisquare(key_den, broadcast_to(n, to, l), to, type, l);
  return upper / m / (lower / n);
}
/// Student's distribution with `df` degrees of freedom: a normal sample divided by the root of a mean of squares.
///
/// shapes  df broadcasts to s, which is its shape if it is {}
/// errors  "t: shape"
/// source  jax.random.t
constexpr array t(const key& k, const array& df, const shape& s = {}, dtype type = f32,
                  source_line l = source_line::current()) {
  const shape to = detail::sample_shape("t: shape", s, df, l);
  const auto [normal_key, gamma_key] = split(k, l);
  const array half = astype(df, type) / 2.0;
  return normal(normal_key, to, type, l) * sqrt(half / gamma(gamma_key, half, to, type, l));
}
/// Positive numbers whose sum is 1, with density prod x_i^(alpha_i - 1) / B(alpha).
///
/// shapes  alpha [..., n] -> [s..., n], where s is that of the leading axes of alpha if it is {}
/// errors  "dirichlet: alpha" of rank 0, "gamma: shape"
/// source  jax.random.dirichlet
constexpr array dirichlet(const key& k, const array& alpha, const shape& s = {}, dtype type = f32,
                          source_line l = source_line::current()) {
  if (alpha.rank() == 0) {
    reject(alpha, l, "dirichlet: alpha", alpha.type(), "an axis of parameters");
    return alpha;
  }
  shape to = s;
  for (int i = 0; s.rank() == 0 && i + 1 < alpha.rank(); ++i) to.push_back(alpha.extent(i));
  to.push_back(alpha.extent(-1));
  return softmax(loggamma(k, alpha, to, type, l), -1, l);
}

/// Density proportional to exp(-|x|^p): a normal one with variance 1/2 for p = 2, a Laplace one for p = 1.
///
/// dtypes  f32, f64, f16 or bf16
/// source  jax.random.generalized_normal
constexpr array generalized_normal(const key& k, double p, const shape& s = {}, dtype type = f32,
                                   source_line l = source_line::current()) {
  const auto [gamma_key, sign_key] = split(k, l);
  const array g = gamma(gamma_key, detail::literal(1 / p, type), s, type, l);
  return rademacher(sign_key, s, type, l) * power(g, detail::literal(1 / p, type), l);
}
/// Points of the ball of radius 1 in d dimensions by the p-norm, equally dense everywhere.
///
/// shapes  -> [s..., d]
/// source  jax.random.ball; Barthe, Guedon, Mendelson, Naor 2005, arXiv:math/0503650
constexpr array ball(const key& k, int d, double p = 2, const shape& s = {}, dtype type = f32,
                     source_line l = source_line::current()) {
  const auto [direction, distance] = split(k, l);
  shape to = s;
  to.push_back(d);
  const array g = generalized_normal(direction, p, to, type, l), e = exponential(distance, s, type, l);
  const array length = power(sum(power(abs(g), detail::literal(p, type)), {{-1}}, l) + e, detail::literal(1 / p, type));
  return g / expand_dims(length, -1, l);
}

}  // namespace tokamax::random
