// tokamax/scipy/stats/multivariate.hpp: distributions of vectors: multivariate_normal and dirichlet.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/stats.cpp
#pragma once

#include <tokamax/linalg/cholesky.hpp>           // cholesky
#include <tokamax/scipy/stats/distribution.hpp>  // xlogy

/// Normal vectors with a mean and a matrix of covariances.
namespace tokamax::scipy::stats::multivariate_normal {
/// log of e^(-(x - mean)^T cov^-1 (x - mean) / 2) / sqrt((2 pi)^n det(cov)), by a Cholesky factor of cov.
///
/// shapes  x [..., n], mean [n] or [..., n], cov [n, n] or [..., n, n] -> [...]
/// errors  those of cholesky and triangular_solve. NaN where cov is not positive definite
/// source  jax.scipy.stats.multivariate_normal.logpdf
constexpr array logpdf(const array& x, const array& mean, const array& cov, source_line l = source_line::current()) {
  const array d = detail::in_floats(x) - located(mean, l), factor = linalg::cholesky(cov, {}, l);
  const array column = expand_dims(d, -1, l);
  const array z = squeeze(linalg::triangular_solve(factor, column, {.lower = true}, l), -1, l);
  const array log_diagonal = tokamax::log(linalg::detail::diagonal_of(factor));
  const double n = static_cast<double>(factor.extent(factor.rank() - 1));
  return -0.5 * sum(z * z, {.axis = {-1}}, l) - n * tokamax::detail::log_root_two_pi -
         sum(log_diagonal, {.axis = {-1}}, l);
}
constexpr array pdf(const array& x, const array& mean, const array& cov, source_line l = source_line::current()) {
  return exp(logpdf(x, mean, cov, l));
}
}  // namespace tokamax::scipy::stats::multivariate_normal

/// Vectors of positive numbers whose sum is 1.
namespace tokamax::scipy::stats::dirichlet {
/// log of prod x^(alpha - 1) / B(alpha); minus infinity where an element is negative or the sum is not 1.
///
/// shapes  x [n, ...], alpha [n] -> [...]: as in SciPy, the first axis is that of the vectors
/// source  jax.scipy.stats.dirichlet.logpdf
constexpr array logpdf(const array& x, const array& alpha, source_line l = source_line::current()) {
  const array v = detail::in_floats(x), a = detail::in_floats(alpha);
  array along = a;  // alpha beside the vectors: its only axis is the first one
  for (int i = 1; i < v.rank(); ++i) along = expand_dims(along, -1, l);
  const array log_beta = sum(detail::gammaln(a), {}, l) - detail::gammaln(sum(a, {}, l));
  const array total = sum(v, {.axis = {0}}, l);
  const array inside = logical_and(all(v >= 0.0, {.axis = {0}}, l), abs(total - 1.0) < 1e-3);
  return detail::or_nothing(inside, sum(detail::xlogy(along - 1.0, v), {.axis = {0}}, l) - log_beta, total);
}
constexpr array pdf(const array& x, const array& alpha, source_line l = source_line::current()) {
  return exp(logpdf(x, alpha, l));
}
}  // namespace tokamax::scipy::stats::dirichlet
