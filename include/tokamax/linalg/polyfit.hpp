// tokamax/linalg/polyfit.hpp: polynomials through points, by least squares: polyfit.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/linalg/functions.cpp
#pragma once

#include <tokamax/core/arrays_of.hpp>             // arrays_of
#include <tokamax/linalg/least_squares.hpp>       // lstsq
#include <tokamax/linalg/solve.hpp>               // inv
#include <tokamax/numpy/creation/matrices.hpp>    // vander
#include <tokamax/numpy/signal/contractions.hpp>  // outer

namespace tokamax {

/// How polyfit fits.
struct polyfit_options {
  array weights = {};  ///< [points]: of the differences, not of their squares
  double rcond =
      -1;  ///< singular values up to this share of the largest one count as zero; by default points * rounding
};
/// All that a fit tells.
struct polyfit_result {
  array coefficients;     ///< [degree + 1] or [degree + 1, k], highest power first
  array residuals;        ///< [1] or [k]: the sum of squares of the differences
  array rank;             ///< i32[]: how many singular values count
  array singular_values;  ///< [degree + 1], of the matrix of powers with columns of length 1
  array scale;            ///< [degree + 1]: the lengths of these columns before
};

/// The polynomial of a degree with the smallest sum of squares (w[i] (p(x[i]) - y[i]))^2, and what is known of the fit.
///
/// shapes  x [n], y [n] or [n, k]
/// dtypes  f32 or f64; integers become f32
/// errors  "polyfit: degree" if negative; "polyfit: x" unless it has one axis and elements; "polyfit: y" and
///         "polyfit: weights" of another length
/// source  jax.numpy.polyfit with full=True
constexpr polyfit_result polyfit_full(const array& x, const array& y, int degree, const polyfit_options& o = {},
                                      source_line l = source_line::current()) {
  const auto refuse = [&](const char* what, const array& found, const char* expected) -> polyfit_result {
    reject(x.trace() ? x.trace() : y.trace(), l, what, found.type(), expected);
    return {x, x, x, x, x};
  };
  if (degree < 0) {
    reject(x.trace(), l, "polyfit: degree", message() << degree, "0 or more");
    return {x, x, x, x, x};
  }
  if (x.rank() != 1 || x.extent(0) == 0) return refuse("polyfit: x", x, "one axis with elements");
  if ((y.rank() != 1 && y.rank() != 2) || y.extent(0) != x.extent(0))
    return refuse("polyfit: y", y, "[n] or [n, k] for x [n]");
  if (o.weights.exists() && !(o.weights.shape() == x.shape()))
    return refuse("polyfit: weights", o.weights, "one for each point");
  const array at = linalg::detail::in_precision(x, y.dtype());
  array powers = vander(at, degree + 1), wanted = linalg::detail::in_precision(y, x.dtype());
  if (o.weights.exists()) {
    const array w = astype(o.weights, at.dtype(), l), column = reshape(w, {w.extent(0), 1});
    powers = powers * column;
    wanted = wanted * (y.rank() == 2 ? column : w);
  }
  const array scale = sqrt(reduce_sum(powers * powers, {0}));
  const double rcond =
      o.rcond < 0 ? static_cast<double>(x.extent(0)) * linalg::detail::rounding_of(at.dtype()) : o.rcond;
  const linalg::lstsq_result r = linalg::lstsq(powers / scale, wanted, rcond, l);
  const array divisor = y.rank() == 2 ? reshape(scale, {scale.extent(0), 1}) : scale;
  const array residuals = y.rank() == 2 ? r.residuals : reshape(r.residuals, {1}, l);
  return {r.x / divisor, residuals, r.rank, r.singular_values, scale};
}
/// The coefficients alone.
/// source  jax.numpy.polyfit
constexpr array polyfit(const array& x, const array& y, int degree, const polyfit_options& o = {},
                        source_line l = source_line::current()) {
  return polyfit_full(x, y, degree, o, l).coefficients;
}

/// The coefficients, and their covariances: for k columns of y [degree + 1, degree + 1, k]. `unscaled` leaves out the factor
/// residuals / (n - degree - 1), as is right where the weights are known to be one over the deviation of y.
///
/// errors  those of polyfit_full, and "polyfit: points" unless there are more than degree + 1, which the factor needs
/// source  jax.numpy.polyfit with cov=True or cov="unscaled"
constexpr arrays_of<2> polyfit_covariance(const array& x, const array& y, int degree, const polyfit_options& o = {},
                                          bool unscaled = false, source_line l = source_line::current()) {
  const polyfit_result fit = polyfit_full(x, y, degree, o, l);
  const std::int64_t spare = (x.rank() == 1 ? x.extent(0) : 0) - degree - 1;
  if (!unscaled && spare <= 0) {
    reject(x.trace() ? x.trace() : y.trace(), l, "polyfit: points", x.type(),
           message("more than ") << degree + 1 << " for covariances");
    return {fit.coefficients, fit.coefficients};
  }
  array powers = vander(linalg::detail::in_precision(x, y.dtype()), degree + 1);
  if (o.weights.exists()) powers = powers * reshape(astype(o.weights, powers.dtype(), l), {x.extent(0), 1});
  powers = powers / fit.scale;
  const array base = linalg::inv(matmul(transpose(powers), powers, {}, l), l) / outer(fit.scale, fit.scale);
  array factor = ones({}, base.dtype());
  if (!unscaled) factor = fit.residuals / static_cast<double>(spare);
  if (y.rank() == 1) return {fit.coefficients, base * factor};
  const std::int64_t n = degree + 1;
  return {fit.coefficients, reshape(base, {n, n, 1}) * factor};
}

}  // namespace tokamax
