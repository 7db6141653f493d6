// tokamax/linalg/eig.hpp: eigenvalues and eigenvectors of square matrices that need not be symmetric.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/fourier/complex_parts.hpp>  // complex_parts
#include <tokamax/linalg/solve.hpp>               // solve

namespace tokamax::linalg {

namespace detail {
/// [[re, -im], [im, re]]: a complex matrix as a real one of twice the size.
constexpr array real_form(const array& re, const array& im) {
  return concatenate({concatenate({re, -im}, -1), concatenate({im, re}, -1)}, -2);
}
/// The real part of v^-H diag(g) v^H, where g is the cotangent of the eigenvalues: d lambda_i = (v^-1 da v)_ii.
constexpr arrays eig_vjp(const call& c) {
  if (c.cotangents[2].exists() || c.cotangents[3].exists()) {
    c.fail("eig: derivative", "of eigenvectors", "of eigenvalues: eigh has both");
    return arrays(c[0]);
  }
  const array re = transposed(c.outputs[2]), im = -transposed(c.outputs[3]);  // v^H
  array g_re = c.cotangents[0], g_im = c.cotangents[1];
  if (!g_re.exists()) g_re = zeros_like(c.outputs[0]);
  if (!g_im.exists()) g_im = zeros_like(c.outputs[1]);
  const array b = concatenate(
      {diagonal_times(g_re, re) - diagonal_times(g_im, im), diagonal_times(g_im, re) + diagonal_times(g_re, im)}, -2);
  return slice_in_dim(solve(real_form(re, im), b), 0, rows(c[0]), -2);
}
}  // namespace detail

/// The real and imaginary parts of eigenvalues and of eigenvectors.
inline constexpr op eig_p{
    .name = "eig",
    .cost = {.operations = [](const call& c) -> op_cost {
      return {static_cast<double>(c[0].size()) * static_cast<double>(detail::rows(c[0])) * 25};
    }},
    .infer_all = [](const call& c) -> types {
      const array_type a = c[0].type();
      if (!detail::has_matrix(c, 0, true)) return {a, a, a, a};
      const array_type w = detail::batch_type(c[0], {detail::rows(c[0])}), v{a.dtype, false, a.shape};
      return {w, w, v, v};
    },
    .vjp = detail::eig_vjp,
    .batch = detail::batch_of_matrices,
    .run = detail::run_eig,
};

/// The results of eig.
struct eig_result {
  complex_parts eigenvalues, eigenvectors;
};
/// The eigenvalues of a real matrix and its eigenvectors, which are columns of length 1. Pairs of conjugate eigenvalues stand
/// next to each other, the one with a positive imaginary part first.
///
/// shapes  a [..., n, n] -> [..., n], [..., n, n]
/// dtypes  f32 or f64; integers become f32. There are no complex operands, and results are pairs of real arrays
/// errors  "eig: matrix", "eig: dtype"; "eig: derivative" of eigenvectors. A matrix with NaN or infinities gives NaN
/// source  jax.numpy.linalg.eig
constexpr eig_result eig(const array& a, source_line l = source_line::current()) {
  const array x = detail::in_precision(a);
  const arrays out = bind_all(described<eig_p>(), &x, 1, words{}, l);
  return {{out[0], out[1]}, {out[2], out[3]}};
}
/// The eigenvalues alone.
/// source  jax.numpy.linalg.eigvals
constexpr complex_parts eigvals(const array& a, source_line l = source_line::current()) {
  return eig(a, l).eigenvalues;
}

}  // namespace tokamax::linalg
