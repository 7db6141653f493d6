// tokamax/linalg/cholesky.hpp: a positive definite matrix as the product of a triangle and its transpose.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/linalg/triangular_solve.hpp>  // triangular_solve

namespace tokamax::linalg {

/// L of (a + a^T) / 2 = L L^T. With P(X) the lower triangle of X with half of its diagonal, the cotangent of a is the
/// symmetric part of L^-T P(L^T ct) L^-1 (Murray 2016, arXiv:1602.07527, eq. 10).
inline constexpr op cholesky_p{
    .name = "cholesky",
    .cost = {.operations = [](const call& c) -> op_cost {
      return {static_cast<double>(c[0].size()) * static_cast<double>(detail::columns(c[0])) / 3};
    }},
    .infer = [](const call& c) -> array_type {
      return detail::has_matrix(c, 0, true) ? array_type{c[0].dtype(), false, c[0].shape()} : c[0].type();
    },
    .vjp = [](const call& c) -> arrays {
      const array& l = c.out();
      const array product = detail::times(detail::transposed(l), c.ct());
      const array p = detail::lower_triangle(product) - product * (detail::identity_like(l) * 0.5);
      const array left = triangular_solve(l, p, {.lower = true, .transpose_a = true});    // L^-T P
      const array both = triangular_solve(l, left, {.left_side = false, .lower = true});  // L^-T P L^-1
      return detail::symmetric_part(both);
    },
    .batch = detail::batch_of_matrices,
    .run = detail::run_cholesky,
};

/// How cholesky is asked for.
struct cholesky_options {
  bool upper = false;            ///< returns the upper triangle L^T instead
  bool symmetrize_input = true;  ///< decomposes (a + a^T) / 2; otherwise only the lower triangle of a is read
};

/// The lower triangular matrix L with a = L L^T and a positive diagonal; the other triangle is zero.
///
/// shapes  a [..., n, n] -> [..., n, n]
/// dtypes  f32 or f64; integers become f32
/// errors  "cholesky: matrix", "cholesky: dtype". A matrix that is not positive definite gives NaN in its lower triangle
/// source  jax.numpy.linalg.cholesky
constexpr array cholesky(const array& a, const cholesky_options& options = {}, source_line l = source_line::current()) {
  array x = detail::in_precision(a);
  if (!options.symmetrize_input && detail::is_matrix("cholesky: matrix", x, true, l)) {
    const array lower = detail::lower_triangle(x);
    x = lower + detail::transposed(detail::lower_triangle(x, -1));
  }
  const array factor = bind(described<cholesky_p>(), {x}, words{}, l);
  if (options.upper && factor.rank() >= 2) return detail::transposed(factor);
  return factor;
}

/// A Cholesky factor that cho_solve takes: L, or L^T if it is not `lower`.
struct cho_factor_result {
  array factor;
  bool lower = false;
};
/// The same as `cholesky`, for cho_solve.
/// source  jax.scipy.linalg.cho_factor, whose other triangle has arbitrary elements where ours has zeros
constexpr cho_factor_result cho_factor(const array& a, bool lower = false, source_line l = source_line::current()) {
  return {cholesky(a, {.upper = !lower}, l), lower};
}

/// x of a x = b, where c holds the Cholesky factor of a.
///
/// shapes  factor [..., n, n], b [n], or [..., n, k] -> like b
/// errors  those of triangular_solve
/// source  jax.scipy.linalg.cho_solve
constexpr array cho_solve(const cho_factor_result& c, const array& b, source_line l = source_line::current()) {
  const array first = triangular_solve(c.factor, b, {.lower = c.lower, .transpose_a = !c.lower}, l);
  return triangular_solve(c.factor, first, {.lower = c.lower, .transpose_a = c.lower}, l);
}

}  // namespace tokamax::linalg
