// tokamax/linalg/lu.hpp: a matrix as a lower triangle times an upper one, with rows exchanged.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>   // concatenate
#include <tokamax/linalg/triangular_solve.hpp>  // triangular_solve
#include <tokamax/numpy/take_along_axis.hpp>    // take_along_axis

namespace tokamax::linalg {

namespace detail {
/// The rows of x [..., m, k] in the order `permutation` [..., m].
constexpr array permuted_rows(const array& x, const array& permutation) {
  return take_along_axis(x, broadcast_to(expand_dims(permutation, -1), x.shape()), -2);
}
/// The rows in the order from which `permutation` made its own: the inverse, which is its transpose.
constexpr array rows_put_back(const array& x, const array& permutation) {
  const array i = expand_dims(permutation, -2), row = expand_dims(arange(rows(x)), -1);
  return times(astype(i == row, x.dtype()), x);
}
/// The square unit triangle of a packed decomposition, [..., m, m], and the square upper one, [..., n, n]. Where the
/// matrix is not square, ones on the diagonal complete them.
constexpr array unit_lower_of(const array& packed) {
  const std::int64_t m = rows(packed), n = columns(packed);
  array l = lower_triangle(packed, -1);
  if (n < m) l = concatenate({l, zeros(batch_type(packed, {m, m - n}).shape, packed.dtype())}, -1);
  if (n > m) l = slice_in_dim(l, 0, m, -1);
  return l + eye(m, packed.dtype());
}
constexpr array upper_of(const array& packed) {
  const std::int64_t m = rows(packed), n = columns(packed);
  array u = upper_triangle(packed);
  if (m > n) return slice_in_dim(u, 0, n, -2);
  if (m == n) return u;
  const array below = broadcast_to(slice_in_dim(eye(n, packed.dtype()), m, n, 0), batch_type(packed, {n - m, n}).shape);
  return concatenate({u, below}, -2);
}
}  // namespace detail

/// Both triangles in one matrix, the rows that were exchanged in each step, and the order of rows that follows. With
/// d = L^-1 (permuted da) U^-1, the tangent is L tril(d, -1) + triu(d) U; the rule here is its transpose.
inline constexpr op lu_p{
    .name = "lu",
    .cost = {.operations = [](const call& c) -> op_cost {
      const double least = static_cast<double>(detail::lesser(detail::rows(c[0]), detail::columns(c[0])));
      return {static_cast<double>(c[0].size()) * least * 2 / 3};
    }},
    .infer_all = [](const call& c) -> types {
      if (!detail::has_matrix(c, 0)) return {c[0].type(), c[0].type(), c[0].type()};
      const std::int64_t m = detail::rows(c[0]), k = detail::lesser(m, detail::columns(c[0]));
      types ts{detail::batch_type(c[0], {m, detail::columns(c[0])}), detail::batch_type(c[0], {k}),
               detail::batch_type(c[0], {m})};
      ts[1].dtype = ts[2].dtype = i32;
      return ts;
    },
    .vjp = [](const call& c) -> arrays {
      if (!c.cotangents[0].exists()) return arrays(array());
      const array &packed = c.outputs[0], &ct = c.cotangents[0];
      const array l = detail::unit_lower_of(packed), u = detail::upper_of(packed);
      const array inner = detail::lower_triangle(detail::times(detail::transposed(l), ct), -1) +
                          detail::upper_triangle(detail::times(ct, detail::transposed(u)));
      const array right = triangular_solve(u, inner, {.left_side = false, .transpose_a = true});
      const array both = triangular_solve(l, right, {.lower = true, .transpose_a = true, .unit_diagonal = true});
      return detail::rows_put_back(both, c.outputs[2]);
    },
    .batch = detail::batch_of_matrices,
    .run = detail::run_lu,
};

/// The results of a decomposition with partial pivoting: a[permutation] = L U.
struct packed_lu {
  array lu;           ///< U on and above the diagonal; below it L, whose diagonal is ones
  array pivots;       ///< i32[..., min(m, n)]: row i was exchanged with row pivots[i]
  array permutation;  ///< i32[..., m]
};

/// L and U of a[permutation] = L U, in one matrix, by elimination with the largest pivot of each column.
///
/// shapes  a [..., m, n] -> [..., m, n], [..., min(m, n)], [..., m]
/// dtypes  f32 or f64; integers become f32
/// errors  "lu: matrix", "lu: dtype". NaN counts as the largest pivot
/// source  jax.lax.linalg.lu, jax.scipy.linalg.lu_factor
constexpr packed_lu lu_factor(const array& a, source_line l = source_line::current()) {
  const array x = detail::in_precision(a);
  const arrays out = bind_all(described<lu_p>(), &x, 1, words{}, l);
  return {out[0], out[1], out[2]};
}

/// The three factors of a = p l u.
struct lu_result {
  array p, l, u;
};
/// a as a permutation matrix times a unit lower triangle times an upper one.
///
/// shapes  a [..., m, n] -> [..., m, m], [..., m, k], [..., k, n] with k = min(m, n)
/// errors  those of lu_factor
/// source  jax.scipy.linalg.lu
constexpr lu_result lu(const array& a, source_line l = source_line::current()) {
  if (!detail::is_matrix("lu: matrix", a, false, l)) return {a, a, a};
  const packed_lu f = lu_factor(a, l);
  const std::int64_t m = detail::rows(f.lu), n = detail::columns(f.lu), k = detail::lesser(m, n);
  const array p = astype(expand_dims(f.permutation, -2) == expand_dims(arange(m), -1), f.lu.dtype());
  return {p, slice_in_dim(detail::unit_lower_of(f.lu), 0, k, -1), slice_in_dim(detail::upper_of(f.lu), 0, k, -2)};
}

}  // namespace tokamax::linalg
