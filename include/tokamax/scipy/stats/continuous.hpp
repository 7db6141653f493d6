// tokamax/scipy/stats/continuous.hpp: distributions of real variables: norm, gamma, beta, t, cauchy, expon, laplace and others.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/stats.cpp
#pragma once

#include <tokamax/scipy/special/bessel.hpp>      // bessel_i0e
#include <tokamax/scipy/stats/distribution.hpp>  // standardized

// Each namespace is a distribution, as in SciPy and JAX. In all of them x and parameters are broadcast together, x may be of any
// dtype, results are floating, `loc` moves and `scale` stretches the distribution. logpdf is the logarithm of the density, cdf
// the probability to be below x, sf above it, ppf the inverse of cdf. Outside of where the density is positive logpdf is minus
// infinity. Source: jax.scipy.stats.

/// e^(-x^2 / 2) / sqrt(2 pi)
namespace tokamax::scipy::stats::norm {
constexpr array logpdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale);
  return -0.5 * z * z - tokamax::detail::log_root_two_pi - tokamax::log(scale);
}
constexpr array pdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, loc, scale));
}
constexpr array cdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return special::ndtr(detail::standardized(x, loc, scale));
}
constexpr array logcdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return special::log_ndtr(detail::standardized(x, loc, scale));
}
constexpr array sf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return special::ndtr(-detail::standardized(x, loc, scale));
}
constexpr array logsf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return special::log_ndtr(-detail::standardized(x, loc, scale));
}
constexpr array ppf(const array& q, const array& loc = 0.0, const array& scale = 1.0) {
  return special::ndtri(q) * scale + loc;
}
constexpr array isf(const array& q, const array& loc = 0.0, const array& scale = 1.0) {
  return loc - located(scale * special::ndtri(q));
}
}  // namespace tokamax::scipy::stats::norm

/// x^(a - 1) e^-x / gamma(a) for x >= 0
namespace tokamax::scipy::stats::gamma {
constexpr array logpdf(const array& x, const array& a, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale), inside = z >= 0.0;
  const array y = detail::standing_in(inside, z, 1);
  return detail::or_nothing(inside, detail::xlogy(a - 1.0, y) - y - detail::gammaln(a) - tokamax::log(scale), z);
}
constexpr array pdf(const array& x, const array& a, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, a, loc, scale));
}
constexpr array cdf(const array& x, const array& a, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale);
  return igamma(a, maximum(z, zeros_like(z)));
}
constexpr array sf(const array& x, const array& a, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale);
  return igammac(a, maximum(z, zeros_like(z)));
}
constexpr array logcdf(const array& x, const array& a, const array& loc = 0.0, const array& scale = 1.0) {
  return tokamax::log(cdf(x, a, loc, scale));
}
constexpr array logsf(const array& x, const array& a, const array& loc = 0.0, const array& scale = 1.0) {
  return tokamax::log(sf(x, a, loc, scale));
}
}  // namespace tokamax::scipy::stats::gamma

/// x^(a - 1) (1 - x)^(b - 1) / B(a, b) for 0 <= x <= 1
namespace tokamax::scipy::stats::beta {
constexpr array logpdf(const array& x, const array& a, const array& b, const array& loc = 0.0,
                       const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale), inside = logical_and(z >= 0.0, z <= 1.0);
  const array y = detail::standing_in(inside, z, 0.5);
  const array log_shape = detail::xlogy(a - 1.0, y) + detail::xlog1py(b - 1.0, -y);
  return detail::or_nothing(inside, log_shape - special::betaln(a, b) - tokamax::log(scale), z);
}
constexpr array pdf(const array& x, const array& a, const array& b, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, a, b, loc, scale));
}
constexpr array cdf(const array& x, const array& a, const array& b, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale);
  return betainc(a, b, minimum(maximum(z, array(0.0)), array(1.0)));
}
constexpr array sf(const array& x, const array& a, const array& b, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale);
  return betainc(b, a, 1.0 - minimum(maximum(z, array(0.0)), array(1.0)));
}
constexpr array logcdf(const array& x, const array& a, const array& b, const array& loc = 0.0,
                       const array& scale = 1.0) {
  return tokamax::log(cdf(x, a, b, loc, scale));
}
constexpr array logsf(const array& x, const array& a, const array& b, const array& loc = 0.0,
                      const array& scale = 1.0) {
  return tokamax::log(sf(x, a, b, loc, scale));
}
}  // namespace tokamax::scipy::stats::beta

/// The gamma distribution of a = df / 2 and a scale of 2
namespace tokamax::scipy::stats::chi2 {
constexpr array logpdf(const array& x, const array& df, const array& loc = 0.0, const array& scale = 1.0) {
  return gamma::logpdf(x, df * 0.5, loc, scale * 2.0);
}
constexpr array pdf(const array& x, const array& df, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, df, loc, scale));
}
constexpr array cdf(const array& x, const array& df, const array& loc = 0.0, const array& scale = 1.0) {
  return gamma::cdf(x, df * 0.5, loc, scale * 2.0);
}
constexpr array sf(const array& x, const array& df, const array& loc = 0.0, const array& scale = 1.0) {
  return gamma::sf(x, df * 0.5, loc, scale * 2.0);
}
}  // namespace tokamax::scipy::stats::chi2

/// (1 + x^2 / df)^(-(df + 1) / 2), normalized
namespace tokamax::scipy::stats::t {
constexpr array logpdf(const array& x, const array& df, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale), n = detail::in_floats(df), half = 0.5 * n;
  const array size = detail::gammaln(half) - detail::gammaln(half + 0.5) +
                     0.5 * (tokamax::log(n) + 1.1447298858494002) + tokamax::log(scale);
  return -size - (half + 0.5) * log1p(z * z / n);
}
constexpr array pdf(const array& x, const array& df, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, df, loc, scale));
}
}  // namespace tokamax::scipy::stats::t

/// 1 / (pi (1 + x^2))
namespace tokamax::scipy::stats::cauchy {
constexpr array logpdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale);
  return -1.1447298858494002 - tokamax::log(scale) - log1p(z * z);
}
constexpr array pdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, loc, scale));
}
}  // namespace tokamax::scipy::stats::cauchy

/// e^-x for x >= 0
namespace tokamax::scipy::stats::expon {
constexpr array logpdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale);
  return detail::or_nothing(z >= 0.0, -z - tokamax::log(scale), z);
}
constexpr array pdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, loc, scale));
}
constexpr array cdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return -expm1(-maximum(detail::standardized(x, loc, scale), array(0.0)));
}
constexpr array sf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(-maximum(detail::standardized(x, loc, scale), array(0.0)));
}
constexpr array ppf(const array& q, const array& loc = 0.0, const array& scale = 1.0) {
  return detail::of_probability(q, loc - located(scale * log1p(-q)));
}
}  // namespace tokamax::scipy::stats::expon

/// e^-|x| / 2
namespace tokamax::scipy::stats::laplace {
constexpr array logpdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return -abs(detail::standardized(x, loc, scale)) - tokamax::log(2.0 * scale);
}
constexpr array pdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, loc, scale));
}
constexpr array cdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale), tail = 0.5 * exp(-abs(z));
  return where(z <= 0.0, tail, 1.0 - tail);
}
}  // namespace tokamax::scipy::stats::laplace

/// e^-x / (1 + e^-x)^2
namespace tokamax::scipy::stats::logistic {
constexpr array logpdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = abs(detail::standardized(x, loc, scale));
  return -z - 2.0 * log1p(exp(-z)) - tokamax::log(scale);
}
constexpr array pdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, loc, scale));
}
constexpr array cdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return special::expit(detail::standardized(x, loc, scale));
}
constexpr array sf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return special::expit(-detail::standardized(x, loc, scale));
}
constexpr array ppf(const array& q, const array& loc = 0.0, const array& scale = 1.0) {
  return special::logit(q) * scale + loc;
}
constexpr array isf(const array& q, const array& loc = 0.0, const array& scale = 1.0) {
  return loc - located(special::logit(q) * scale);
}
}  // namespace tokamax::scipy::stats::logistic

/// 1 for 0 <= x <= 1
namespace tokamax::scipy::stats::uniform {
constexpr array logpdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale);
  return detail::or_nothing(logical_and(z >= 0.0, z <= 1.0), zeros_like(z) - tokamax::log(scale), z);
}
constexpr array pdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, loc, scale));
}
constexpr array cdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return minimum(maximum(detail::standardized(x, loc, scale), array(0.0)), array(1.0));
}
constexpr array ppf(const array& q, const array& loc = 0.0, const array& scale = 1.0) {
  return detail::of_probability(q, q * scale + loc);
}
}  // namespace tokamax::scipy::stats::uniform

/// b x^-(b + 1) for x >= 1
namespace tokamax::scipy::stats::pareto {
constexpr array logpdf(const array& x, const array& b, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale), inside = z >= 1.0;
  const array y = detail::standing_in(inside, z, 1);
  return detail::or_nothing(inside, tokamax::log(b) - tokamax::log(scale) - (b + 1.0) * tokamax::log(y), z);
}
constexpr array pdf(const array& x, const array& b, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, b, loc, scale));
}
}  // namespace tokamax::scipy::stats::pareto

/// e^-(x + e^-x) of the largest, and e^(x - e^x) of the least of many values
namespace tokamax::scipy::stats::gumbel_r {
constexpr array logpdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  const array z = detail::standardized(x, loc, scale);
  return -(z + exp(-z)) - tokamax::log(scale);
}
constexpr array pdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, loc, scale));
}
constexpr array cdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(-exp(-detail::standardized(x, loc, scale)));
}
}  // namespace tokamax::scipy::stats::gumbel_r
namespace tokamax::scipy::stats::gumbel_l {
constexpr array logpdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return gumbel_r::logpdf(-x, -loc, scale);
}
constexpr array pdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return exp(logpdf(x, loc, scale));
}
constexpr array cdf(const array& x, const array& loc = 0.0, const array& scale = 1.0) {
  return -expm1(-exp(detail::standardized(x, loc, scale)));
}
}  // namespace tokamax::scipy::stats::gumbel_l

/// e^(kappa cos(x)) / (2 pi I0(kappa)): angles
namespace tokamax::scipy::stats::vonmises {
constexpr array logpdf(const array& x, const array& kappa) {
  return kappa * (cos(detail::in_floats(x)) - 1.0) - 1.8378770664093454836 - tokamax::log(bessel_i0e(kappa));
}
constexpr array pdf(const array& x, const array& kappa) { return exp(logpdf(x, kappa)); }
}  // namespace tokamax::scipy::stats::vonmises
