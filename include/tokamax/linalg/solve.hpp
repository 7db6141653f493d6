// tokamax/linalg/solve.hpp: systems of linear equations, and the inverse of a matrix.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/arguments.hpp>  // leading
#include <tokamax/linalg/lu.hpp>       // lu_factor

namespace tokamax::linalg {

/// Attributes of solve.
struct solve_attributes {
  bool transpose_a = false;  ///< solves with the transpose of a
};

/// x of a x = b from operands a, b, and the decomposition of a, which the derivative uses again: that of a as a whole stands
/// for that of its decomposition, which gets none. The cotangent of b is a
/// solution with the transposed matrix, and that of a the negative outer product of it and x.
inline constexpr op solve_p{
    .name = "solve",
    .attributes = schema<solve_attributes>,
    .infer = [](const call& c) -> array_type {
      const array_type &a = c[0].type(), &b = c[1].type();
      const array_type rows_of_a{i32, false, tokamax::detail::leading(c[0])};
      bool fits = (b.dtype == f32 || b.dtype == f64) && a.dtype == b.dtype && a == c[2].type() &&
                  rows_of_a == c[3].type() && a.shape.rank() >= 2 && b.shape.rank() == a.shape.rank() &&
                  a.shape[-1] == a.shape[-2];
      for (int k = 0; fits && k + 1 < a.shape.rank(); ++k) fits = a.shape[k] == b.shape[k];
      return fits ? array_type{b.dtype, false, b.shape}
                  : c.fail("solve: operands", message(a) << ", " << b << ", " << c[2].type() << ", " << c[3].type(),
                           "a [..., n, n], b [..., n, k], the decomposition of a, and its rows");
    },
    .compose = [](const call& c) -> arrays {
      const array &b = c[1], &packed = c[2], &permutation = c[3];
      if (c.attrs<solve_attributes>().transpose_a) {
        const array y = triangular_solve(packed, b, {.transpose_a = true});
        const array z = triangular_solve(packed, y, {.lower = true, .transpose_a = true, .unit_diagonal = true});
        return detail::rows_put_back(z, permutation);
      }
      const array y =
          triangular_solve(packed, detail::permuted_rows(b, permutation), {.lower = true, .unit_diagonal = true});
      return triangular_solve(packed, y, {});
    },
    .vjp = [](const call& c) -> arrays {
      const bool transposed = c.attrs<solve_attributes>().transpose_a;
      const array gb = bind(*c.self, {c[0], c.ct(), c[2], c[3]}, solve_attributes{!transposed}, c.where);
      array ga;
      if (c.needs(0)) {
        if (transposed)
          ga = -detail::times(c.out(), detail::transposed(gb));
        else
          ga = -detail::times(gb, detail::transposed(c.out()));
      }
      return {ga, gb, array(), array()};
    },
    .batch = detail::batch_of_matrices,
};

/// x of a x = b, by an LU decomposition with partial pivoting. Leading axes are broadcast.
///
/// shapes  a [..., n, n], b [n] or [..., n, k] -> like b
/// dtypes  f32 or f64; integers become f32
/// errors  "solve: matrix", "solve: b". A singular matrix gives infinities and NaN
/// source  jax.numpy.linalg.solve, jax.scipy.linalg.solve, and NumPy 2's rule that only a vector b has one axis
constexpr array solve(const array& a, const array& b, source_line l = source_line::current()) {
  if (!detail::is_matrix("solve: matrix", a, true, l)) return b;
  const detail::system_operands in("solve: b", a, b, false, l);
  if (!in.ok) return b;
  if (detail::rows(in.b) != detail::rows(in.a)) {
    reject(in.b.trace() ? in.b.trace() : in.a.trace(), l, "solve: b", b.type(),
           message("as many rows as ") << a.type());
    return b;
  }
  const packed_lu f = lu_factor(in.a, l);
  return in.formed(bind(described<solve_p>(), {in.a, in.b, f.lu, f.permutation}, solve_attributes{}, l), false);
}

/// The same with a decomposition that lu_factor has made, whose derivative goes through the decomposition.
/// source  jax.scipy.linalg.lu_solve
constexpr array lu_solve(const packed_lu& f, const array& b, bool transpose_a = false,
                         source_line l = source_line::current()) {
  const detail::system_operands in("lu_solve: b", f.lu, b, false, l);
  if (!in.ok) return b;
  shape s = in.a.shape();
  s.count = static_cast<std::int8_t>(s.count - 1);
  const array permutation = broadcast_to(f.permutation, s);
  array x;
  if (transpose_a) {
    const array y = triangular_solve(in.a, in.b, {.transpose_a = true}, l);
    x = detail::rows_put_back(triangular_solve(in.a, y, {.lower = true, .transpose_a = true, .unit_diagonal = true}, l),
                              permutation);
  } else {
    const array y =
        triangular_solve(in.a, detail::permuted_rows(in.b, permutation), {.lower = true, .unit_diagonal = true}, l);
    x = triangular_solve(in.a, y, {}, l);
  }
  return in.formed(x, false);
}

/// The matrix whose product with a is the identity.
///
/// shapes  a [..., n, n] -> [..., n, n]
/// errors  "inv: matrix". A singular matrix gives infinities and NaN
/// source  jax.numpy.linalg.inv
constexpr array inv(const array& a, source_line l = source_line::current()) {
  if (!detail::is_matrix("inv: matrix", a, true, l)) return a;
  const array x = detail::in_precision(a);
  return solve(x, detail::identity_like(x), l);
}

}  // namespace tokamax::linalg
