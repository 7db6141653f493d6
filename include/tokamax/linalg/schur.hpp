// tokamax/linalg/schur.hpp: a square matrix as an orthogonal basis times a matrix that is triangular but for blocks of two rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/linalg/host_functions.hpp>  // run_schur
#include <tokamax/linalg/matrices.hpp>        // has_matrix

namespace tokamax::linalg {

/// t and z of a = z t z^T.
inline constexpr op schur_p{
    .name = "schur",
    .cost = {.operations = [](const call& c) -> op_cost {
      return {static_cast<double>(c[0].size()) * static_cast<double>(detail::rows(c[0])) * 25};
    }},
    .infer_all = [](const call& c) -> types {
      const array_type a = c[0].type();
      if (!detail::has_matrix(c, 0, true)) return {a, a};
      const array_type t{a.dtype, false, a.shape};
      return {t, t};
    },
    .vjp = [](const call& c) -> arrays {
      c.fail("schur: derivative", c[0].type(), "no derivative: eig and eigh have one");
      return arrays(c[0]);
    },
    .batch = detail::batch_of_matrices,
    .run = detail::run_schur,
};

/// The factors of a = z t z^T.
struct schur_result {
  array t, z;
};
/// a = z t z^T with an orthogonal z. t is upper triangular but for 2 x 2 blocks on its diagonal, each of which has a pair of
/// conjugate eigenvalues.
///
/// shapes  a [..., n, n] -> [..., n, n], [..., n, n]
/// dtypes  f32 or f64; integers become f32
/// errors  "schur: matrix", "schur: dtype"; "schur: derivative". A matrix with NaN or infinities gives NaN
/// source  jax.scipy.linalg.schur with output="real"
constexpr schur_result schur(const array& a, source_line l = source_line::current()) {
  const array x = detail::in_precision(a);
  const arrays out = bind_all(described<schur_p>(), &x, 1, words{}, l);
  return {out[0], out[1]};
}

}  // namespace tokamax::linalg
