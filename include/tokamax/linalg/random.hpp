// tokamax/linalg/random.hpp: samples that need a decomposition of a matrix: multivariate_normal, orthogonal.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/random/gamma.cpp
#pragma once

#include <tokamax/linalg/cholesky.hpp>      // cholesky
#include <tokamax/linalg/eigh.hpp>          // eigh
#include <tokamax/linalg/qr.hpp>            // qr
#include <tokamax/linalg/svd.hpp>           // svd
#include <tokamax/random/sample_shape.hpp>  // sample_shape
#include <tokamax/random/samplers.hpp>      // normal

namespace tokamax::random {

/// By which decomposition a matrix of covariances becomes a factor. Singular ones need svd or eigh.
enum class covariance_method : std::uint8_t { cholesky, svd, eigh };

/// Normal vectors with a mean and a matrix of covariances: mean + factor z, where z is standard normal and factor factor^T is
/// the matrix.
///
/// shapes  mean [..., n], cov [..., n, n] -> [s..., n], where s is that of the leading axes together if it is {}
/// dtypes  f32 or f64, that of mean and cov together
/// errors  "multivariate_normal: mean" of rank 0, "multivariate_normal: cov", "multivariate_normal: shape"; those of the
///         decompositions. The factor has NaN where cov is not positive definite (cholesky) or has negative eigenvalues
/// source  jax.random.multivariate_normal. Samples by svd and eigh are other than JAX's, as vectors may have any sign
constexpr array multivariate_normal(const key& k, const array& mean, const array& cov, const shape& s = {},
                                    covariance_method method = covariance_method::cholesky,
                                    source_line l = source_line::current()) {
  const int axes_of_batch = cov.rank() - 2;
  bool ok = mean.rank() >= 1;
  if (!ok) reject(mean, l, "multivariate_normal: mean", mean.type(), "an axis of components");
  if (ok && !(cov.rank() >= 2 && cov.extent(-1) == mean.extent(-1) && cov.extent(-2) == mean.extent(-1))) {
    ok = false;
    reject(cov, l, "multivariate_normal: cov", cov.type(), message("a square matrix for mean ") << mean.type());
  }
  if (!ok) return mean;
  const dtype type = mean.dtype() == f64 || cov.dtype() == f64 ? f64 : f32;
  const array center = astype(mean, type), covariance = astype(cov, type);
  shape lead_of_mean, lead_of_cov;
  for (int i = 0; i + 1 < mean.rank(); ++i) lead_of_mean.push_back(mean.extent(i));
  for (int i = 0; i < axes_of_batch; ++i) lead_of_cov.push_back(cov.extent(i));
  shape to = detail::sample_shape("multivariate_normal: shape", s, zeros(lead_of_mean), zeros(lead_of_cov), l);
  to.push_back(mean.extent(-1));
  array factor;
  if (method == covariance_method::svd) {
    const linalg::svd_result parts = linalg::svd(covariance, false, l);
    factor = linalg::detail::times_diagonal(parts.u, sqrt(parts.s));
  } else if (method == covariance_method::eigh) {
    const linalg::eigh_result parts = linalg::eigh(covariance, l);
    factor = linalg::detail::times_diagonal(parts.eigenvectors, sqrt(parts.eigenvalues));
  } else {
    factor = linalg::cholesky(covariance, {}, l);
  }
  return center + squeeze(matmul(factor, expand_dims(normal(k, to, type, l), -1, l), {}, l), -1, l);
}

/// Matrices with orthonormal columns, or rows if there are less of them, of which no direction is preferred: q of a normal
/// matrix, with the signs that make the diagonal of r positive.
///
/// shapes  -> [s..., n, m], where m is n if it is not given
/// dtypes  f32 or f64
/// errors  "random: shape", "qr: dtype"
/// source  jax.random.orthogonal; Mezzadri 2007, arXiv:math-ph/0609050
constexpr array orthogonal(const key& k, std::int64_t n, const shape& s = {}, dtype type = f32, std::int64_t m = -1,
                           source_line l = source_line::current()) {
  if (m == -1) m = n;
  shape to = s;
  to.push_back(n > m ? n : m);
  to.push_back(n > m ? m : n);
  const linalg::qr_result parts = linalg::qr(normal(k, to, type, l), linalg::qr_mode::reduced, l);
  const array q = linalg::detail::times_diagonal(parts.q, sign(linalg::detail::diagonal_of(parts.r)));
  return n < m ? swapaxes(q, -1, -2, l) : q;
}

}  // namespace tokamax::random
