// tokamax/linalg/triangular_solve.hpp: systems of equations whose matrix is a triangle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/linalg/host_functions.hpp>  // run_triangular_solve
#include <tokamax/linalg/matrices.hpp>        // has_matrix

namespace tokamax::linalg {

/// The solution is linear in b. The cotangent of b is a solution with the transposed matrix, and that of a the negative
/// outer product of it and the solution, on the triangle that is read.
inline constexpr op triangular_solve_p{
    .name = "triangular_solve",
    .stablehlo = "stablehlo.triangular_solve",
    .cost = {.operations = [](const call& c) -> op_cost {
      return {static_cast<double>(c[1].size()) * static_cast<double>(detail::columns(c[0]))};
    }},
    .attributes = schema<triangular_solve_options>,
    .infer = [](const call& c) -> array_type {
      const auto o = c.attrs<triangular_solve_options>();
      if (!detail::has_matrix(c, 0, true) || !detail::has_matrix(c, 1)) return c[0].type();
      bool ok = c[0].dtype() == c[1].dtype() && c[0].rank() == c[1].rank();
      for (int i = 0; ok && i + 2 < c[0].rank(); ++i) ok = c[0].extent(i) == c[1].extent(i);
      const std::int64_t n = detail::rows(c[0]);
      if (!ok || (o.left_side ? detail::rows(c[1]) : detail::columns(c[1])) != n)
        return c.fail("triangular_solve: b", c[1].type(),
                      message(o.left_side ? "as many rows as " : "as many columns as ") << c[0].type());
      return {c[1].dtype(), false, c[1].shape()};
    },
    .vjp = [](const call& c) -> arrays {
      auto o = c.attrs<triangular_solve_options>();
      const bool transposed = o.transpose_a;
      o.transpose_a = !transposed;
      const array gb = bind(*c.self, {c[0], c.ct()}, o, c.where);
      array ga;
      if (c.needs(0)) {
        const array &x = c.out(), &left = o.left_side == transposed ? x : gb,
                    &right = o.left_side == transposed ? gb : x;
        // a x = b: -gb x^T; a^T x = b: -x gb^T; x a = b: -x^T gb; x a^T = b: -gb^T x
        array outer;
        if (o.left_side)
          outer = detail::times(left, detail::transposed(right));
        else
          outer = detail::times(detail::transposed(left), right);
        const std::int64_t skipped = o.unit_diagonal ? 1 : 0;
        if (o.lower)
          ga = -detail::lower_triangle(outer, -skipped);
        else
          ga = -detail::upper_triangle(outer, skipped);
      }
      return {ga, gb};
    },
    .batch = detail::batch_of_matrices,
    .run = detail::run_triangular_solve,
};

namespace detail {
/// Operands of one dtype with equal leading axes. A vector b becomes one column, or one row where `as_row`.
struct system_operands {
  array a, b;
  bool vector = false, ok = true;
  constexpr system_operands(const char* what, const array& matrix, const array& right, bool as_row, source_line l)
      : a(in_precision(matrix, right.dtype())), b(in_precision(right, matrix.dtype())), vector(right.rank() == 1) {
    ok = is_matrix(what, a, false, l);
    if (!ok) return;
    if (right.rank() == 0) {
      reject(right, l, what, right.type(), "an array with an axis");
      ok = false;
      return;
    }
    if (vector) b = expand_dims(b, as_row ? 0 : 1);
    shape sa, sb;
    for (int i = 0; i + 2 < a.rank(); ++i) sa.push_back(a.extent(i));
    for (int i = 0; i + 2 < b.rank(); ++i) sb.push_back(b.extent(i));
    const shape both = broadcast_shapes(sa, sb, ok);
    if (!ok) {
      reject(a.trace() ? a.trace() : b.trace(), l, what, b.type(), message("leading extents like ") << a.type());
      return;
    }
    const auto widened = [&](const array& x) {
      shape s = both;
      s.push_back(rows(x));
      s.push_back(columns(x));
      return broadcast_to(x, s, l);
    };
    a = widened(a);
    b = widened(b);
  }
  /// The result in the form of b.
  constexpr array formed(const array& x, bool as_row) const {
    if (!vector) return x;
    return squeeze(x, as_row ? -2 : -1);
  }
};
}  // namespace detail

/// x of a x = b, where a is triangular: only one of its triangles is read. Leading axes are broadcast.
///
/// shapes  a [..., n, n], b [n] or [..., n, k] -> like b; if not left_side, b is [n] or [..., k, n]
/// dtypes  f32 or f64; integers become f32
/// errors  "triangular_solve: matrix", "triangular_solve: b", "triangular_solve: dtype". A zero on the diagonal gives
///         infinities and NaN
/// source  jax.lax.linalg.triangular_solve, jax.scipy.linalg.solve_triangular
constexpr array triangular_solve(const array& a, const array& b, const triangular_solve_options& options = {},
                                 source_line l = source_line::current()) {
  const detail::system_operands in("triangular_solve: matrix", a, b, !options.left_side, l);
  if (!in.ok) return b;
  return in.formed(bind(described<triangular_solve_p>(), {in.a, in.b}, options, l), !options.left_side);
}

}  // namespace tokamax::linalg
