// tokamax/linalg/svd.hpp: the singular value decomposition.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/linalg/host_functions.hpp>  // run_svd
#include <tokamax/linalg/matrices.hpp>        // has_matrix

namespace tokamax::linalg {

namespace detail {
/// 1 / d where the row is not the column, and zeros on the diagonal: d [..., n, n].
constexpr array off_diagonal_reciprocal(const array& d) {
  const array same = eye(rows(d), bool_);
  return where(same, zeros_like(d), ones_like(d) / where(same, ones_like(d), d));
}
/// With F = 1 / (s_j^2 - s_i^2), J = F * (u^T gu), K = F * (v^T gv), the cotangent of a is
///   u ((J + J^T) S + S (K + K^T) + diag(gs)) v^T + (1 - u u^T) gu S^-1 v^T + u S^-1 gv^T (1 - v v^T).
constexpr array svd_cotangent(const array& u, const array& s, const array& vh, const array& gu, const array& gs,
                              const array& gvh) {
  const array column = expand_dims(s, -1), row = expand_dims(s, -2);
  const array f = off_diagonal_reciprocal((row - column) * (row + column));
  const array v = transposed(vh);
  array inner = zeros_like(f);
  if (gs.exists()) inner = inner + diagonal_matrix(gs);
  array beside;  // what adds to u inner v^T, where a has more rows or columns than singular values
  if (gu.exists()) {
    const array j = f * times(transposed(u), gu);
    inner = inner + times_diagonal(j + transposed(j), s);
    if (rows(u) > columns(u)) {
      const array outside = gu - times(u, times(transposed(u), gu));
      beside = times(outside / row, vh);
    }
  }
  if (gvh.exists()) {
    const array k = f * times(vh, transposed(gvh));
    inner = inner + diagonal_times(s, k + transposed(k));
    if (columns(vh) > rows(vh)) {
      const array outside = gvh - times(times(gvh, v), vh);
      const array more = times(u, outside / column);
      beside = beside.exists() ? beside + more : more;
    }
  }
  const array inside = times(times(u, inner), vh);
  return beside.exists() ? inside + beside : inside;
}
constexpr arrays svd_vjp(const call& c);
}  // namespace detail

/// u, s, vh, or s alone. Singular values are in descending order.
inline constexpr op svd_p{
    .name = "svd",
    .cost = {.operations = [](const call& c) -> op_cost {
      const double least = static_cast<double>(detail::lesser(detail::rows(c[0]), detail::columns(c[0])));
      return {static_cast<double>(c[0].size()) * least * (c.attrs<svd_attributes>().compute_uv ? 14 : 4)};
    }},
    .attributes = schema<svd_attributes>,
    .infer_all = [](const call& c) -> types {
      const auto o = c.attrs<svd_attributes>();
      if (!detail::has_matrix(c, 0)) {
        types same{c[0].type()};
        if (o.compute_uv) same = {c[0].type(), c[0].type(), c[0].type()};
        return same;
      }
      const std::int64_t m = detail::rows(c[0]), n = detail::columns(c[0]), k = detail::lesser(m, n);
      const array_type s = detail::batch_type(c[0], {k});
      if (!o.compute_uv) return {s};
      return {detail::batch_type(c[0], {m, o.full_matrices ? m : k}), s,
              detail::batch_type(c[0], {o.full_matrices ? n : k, n})};
    },
    .vjp = detail::svd_vjp,
    .batch = detail::batch_of_matrices,
    .run = detail::run_svd,
};

namespace detail {
constexpr arrays svd_of(const array& a, const svd_attributes& o, location where) {
  return bind_all(described<svd_p>(), &a, 1, pack(o), where);
}
constexpr arrays svd_vjp(const call& c) {
  const auto o = c.attrs<svd_attributes>();
  if (!o.compute_uv) {  // the derivative of singular values needs their vectors
    const arrays all = svd_of(c[0], {}, c.where);
    return svd_cotangent(all[0], all[1], all[2], {}, c.ct(), {});
  }
  array u = c.outputs[0], vh = c.outputs[2];
  const array &s = c.outputs[1], &gu = c.cotangents[0], &gvh = c.cotangents[2];
  if (o.full_matrices && rows(u) != columns(vh)) {
    if (gu.exists() || gvh.exists()) {  // vectors that complete a basis are not determined by a
      c.fail("svd: derivative", c[0].type(), "full_matrices = false where a is not square");
      return arrays(c[0]);
    }
    const std::int64_t k = s.extent(s.rank() - 1);
    u = slice_in_dim(u, 0, k, -1);
    vh = slice_in_dim(vh, 0, k, -2);
  }
  return svd_cotangent(u, s, vh, gu, c.cotangents[1], gvh);
}
}  // namespace detail

/// The factors of a = u diag(s) vh.
struct svd_result {
  array u, s, vh;
};
/// a = u diag(s) vh, where u and v have orthonormal columns and s is in descending order. Vectors may have any sign.
///
/// shapes  a [..., m, n] -> [..., m, k], [..., k], [..., k, n] with k = min(m, n); if full_matrices, u is [..., m, m] and vh
///         [..., n, n]
/// dtypes  f32 or f64; integers become f32
/// errors  "svd: matrix", "svd: dtype"; "svd: derivative" of full matrices where a is not square. The derivative of
///         vectors of equal singular values is not finite. A matrix with NaN or infinities gives NaN
/// source  jax.numpy.linalg.svd, whose full_matrices is true unless said otherwise
constexpr svd_result svd(const array& a, bool full_matrices = false, source_line l = source_line::current()) {
  const arrays out = detail::svd_of(detail::in_precision(a), {.full_matrices = full_matrices}, l);
  return {out[0], out[1], out[2]};
}
/// The singular values, in descending order.
///
/// shapes  a [..., m, n] -> [..., min(m, n)]
/// source  jax.numpy.linalg.svdvals
constexpr array svdvals(const array& a, source_line l = source_line::current()) {
  return detail::svd_of(detail::in_precision(a), {.compute_uv = false}, l)[0];
}

}  // namespace tokamax::linalg
