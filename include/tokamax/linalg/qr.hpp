// tokamax/linalg/qr.hpp: a matrix as orthonormal columns times an upper triangle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>   // concatenate
#include <tokamax/linalg/triangular_solve.hpp>  // triangular_solve

namespace tokamax::linalg {

namespace detail {
/// The cotangent of a = q r with a square r. With M = r gr^T - gq^T q, and S the symmetric matrix that has the lower
/// triangle of M, it is (gq + q S) r^-T.
constexpr array qr_cotangent(const array& q, const array& r, const array& gq, const array& gr) {
  const array m = times(r, transposed(upper_triangle(gr))) - times(transposed(gq), q);
  const array s = lower_triangle(m) + transposed(lower_triangle(m, -1));
  return triangular_solve(r, gq + times(q, s), {.left_side = false, .transpose_a = true});
}
constexpr arrays qr_vjp(const call& c) {
  const array &q = c.outputs[0], &r = c.outputs[1];
  const std::int64_t m = rows(c[0]), n = columns(c[0]);
  if (columns(q) > n) {  // columns that complete a basis are not determined by a
    c.fail("qr: derivative", c[0].type(), "full_matrices = false where there are more rows than columns");
    return arrays(c[0]);
  }
  array gq = c.cotangents[0], gr = c.cotangents[1];
  if (!gq.exists()) gq = zeros_like(q);
  if (!gr.exists()) gr = zeros_like(r);
  if (m >= n) return qr_cotangent(q, r, gq, gr);
  // The first m columns of a make q, and the others of r are q^T times those of a.
  const array rest = slice_in_dim(c[0], m, n, -1), g_rest = slice_in_dim(gr, m, n, -1);
  const array first =
      qr_cotangent(q, slice_in_dim(r, 0, m, -1), gq + times(rest, transposed(g_rest)), slice_in_dim(gr, 0, m, -1));
  return concatenate({first, times(q, g_rest)}, -1);
}
}  // namespace detail

/// q and r by Householder reflections.
inline constexpr op qr_p{
    .name = "qr",
    .cost = {.operations = [](const call& c) -> op_cost {
      const double least = static_cast<double>(detail::lesser(detail::rows(c[0]), detail::columns(c[0])));
      return {static_cast<double>(c[0].size()) * least * 4};
    }},
    .attributes = schema<qr_attributes>,
    .infer_all = [](const call& c) -> types {
      if (!detail::has_matrix(c, 0)) return {c[0].type(), c[0].type()};
      const std::int64_t m = detail::rows(c[0]), n = detail::columns(c[0]);
      const std::int64_t k = c.attrs<qr_attributes>().full_matrices ? m : detail::lesser(m, n);
      return {detail::batch_type(c[0], {m, k}), detail::batch_type(c[0], {k, n})};
    },
    .vjp = detail::qr_vjp,
    .batch = detail::batch_of_matrices,
    .run = detail::run_qr,
};

/// The two factors of a = q r.
struct qr_result {
  array q, r;
};
/// Which parts of q and r are wanted.
enum class qr_mode : std::uint8_t { reduced, complete };

/// a = q r with orthonormal columns of q and an upper triangular r, whose diagonal may have any sign.
///
/// shapes  a [..., m, n] -> [..., m, k], [..., k, n] with k = min(m, n), or m if complete
/// dtypes  f32 or f64; integers become f32
/// errors  "qr: matrix", "qr: dtype"; "qr: derivative" of a complete q with more rows than columns of a. A matrix with NaN
///         or infinities gives NaN
/// source  jax.numpy.linalg.qr. Its derivative is defined here where a is wide, too
constexpr qr_result qr(const array& a, qr_mode mode = qr_mode::reduced, source_line l = source_line::current()) {
  const array x = detail::in_precision(a);
  const arrays out = bind_all(described<qr_p>(), &x, 1, pack(qr_attributes{mode == qr_mode::complete}), l);
  return {out[0], out[1]};
}

}  // namespace tokamax::linalg
