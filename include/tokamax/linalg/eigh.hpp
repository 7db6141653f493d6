// tokamax/linalg/eigh.hpp: eigenvalues and eigenvectors of symmetric matrices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/linalg/svd.hpp>  // off_diagonal_reciprocal

namespace tokamax::linalg {

namespace detail {
constexpr arrays eigh_vjp(const call& c);
}  // namespace detail

/// w, v of (a + a^T) / 2 = v diag(w) v^T, or w alone. Eigenvalues are in ascending order.
inline constexpr op eigh_p{
    .name = "eigh",
    .cost = {.operations = [](const call& c) -> op_cost {
      const double n = static_cast<double>(detail::rows(c[0]));
      return {static_cast<double>(c[0].size()) * n * (c.attrs<eigh_attributes>().compute_vectors ? 9 : 4.0 / 3)};
    }},
    .attributes = schema<eigh_attributes>,
    .infer_all = [](const call& c) -> types {
      const bool vectors = c.attrs<eigh_attributes>().compute_vectors;
      types ts{c[0].type()};
      if (vectors) ts.push_back(c[0].type());
      if (!detail::has_matrix(c, 0, true)) return ts;
      ts[0] = detail::batch_type(c[0], {detail::rows(c[0])});
      if (vectors) ts[1].weak = false;
      return ts;
    },
    .vjp = detail::eigh_vjp,
    .batch = detail::batch_of_matrices,
    .run = detail::run_eigh,
};

namespace detail {
constexpr arrays eigh_of(const array& a, const eigh_attributes& o, location where) {
  return bind_all(described<eigh_p>(), &a, 1, pack(o), where);
}
/// v (diag(gw) + F * (v^T gv)) v^T with F = 1 / (w_j - w_i), of which the symmetric part is the cotangent.
constexpr arrays eigh_vjp(const call& c) {
  array w = c.outputs[0], v, gv;
  if (c.attrs<eigh_attributes>().compute_vectors) {
    v = c.outputs[1];
    gv = c.cotangents[1];
  } else {
    v = eigh_of(c[0], {}, c.where)[1];
  }
  array inner;
  if (c.cotangents[0].exists()) inner = diagonal_matrix(c.cotangents[0]);
  if (gv.exists()) {
    const array f = off_diagonal_reciprocal(expand_dims(w, -2) - expand_dims(w, -1));
    const array turned = f * times(transposed(v), gv);
    inner = inner.exists() ? inner + turned : turned;
  }
  return symmetric_part(times(times(v, inner), transposed(v)));
}
}  // namespace detail

/// The results of eigh.
struct eigh_result {
  array eigenvalues, eigenvectors;
};
/// Eigenvalues in ascending order and orthonormal eigenvectors, which are columns and may have any sign, of the symmetric
/// matrix (a + a^T) / 2.
///
/// shapes  a [..., n, n] -> [..., n], [..., n, n]
/// dtypes  f32 or f64; integers become f32
/// errors  "eigh: matrix", "eigh: dtype". The derivative of vectors of equal eigenvalues is not finite. A matrix with NaN
///         or infinities gives NaN
/// source  jax.numpy.linalg.eigh
constexpr eigh_result eigh(const array& a, source_line l = source_line::current()) {
  const arrays out = detail::eigh_of(detail::in_precision(a), {}, l);
  return {out[0], out[1]};
}
/// The eigenvalues alone.
/// source  jax.numpy.linalg.eigvalsh
constexpr array eigvalsh(const array& a, source_line l = source_line::current()) {
  return detail::eigh_of(detail::in_precision(a), {.compute_vectors = false}, l)[0];
}

}  // namespace tokamax::linalg
