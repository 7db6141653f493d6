// tokamax/stablehlo/rules/factorisations.hpp: decompositions of complex matrices in loops, and what real ones make of them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/lapack_calls.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>                   // argmax
#include <tokamax/linalg/complex_solve.hpp>         // solve
#include <tokamax/linalg/eigh.hpp>                  // eigh
#include <tokamax/linalg/svd.hpp>                   // svd
#include <tokamax/linalg/triangular_solve.hpp>      // triangular_solve_options
#include <tokamax/numpy/creation/matrices.hpp>      // tril, triu
#include <tokamax/stablehlo/rules/reflections.hpp>  // reflected

namespace tokamax::stablehlo::detail {

/// The lower triangle L of a = L L^H, one column after another; NaN where a is not positive definite.
inline value complex_cholesky(const value& a) {
  const value l = loop_of(a.re.extent(-1), {a}, [](const array& i, const values& now) -> values {
    const value column = column_of(now[0], i);
    const array row = number_along(now[0].re, -2), at = number_along(now[0].re, -1);
    const array pivot = expand_dims(sqrt(element_of(column, i).re), -1);
    const array place = number_along(column.re, -1);
    value scaled = each_part([&](const array& x) { return x / pivot; }, column);
    scaled = chosen(place > i, scaled,
                    {select(place == i, broadcast_to(pivot, column.re.shape()), zeros_like(column.re)), {}});
    const value rest = minus(now[0], times(with_axis(scaled, -1), with_axis(conjugate(scaled), -2)));
    const value stored =
        each_part([&](const array& x) { return broadcast_to(expand_dims(x, -1), now[0].re.shape()); }, scaled);
    return {chosen(at == i, stored, chosen(logical_and(row > i, at > i), rest, now[0]))};
  })[0];
  return each_part([](const array& x) { return tril(x); }, l);
}
/// Both triangles of p a = L U in one matrix, and the row [..., count] with which each row was exchanged.
inline values complex_lu(const value& a, const shape& pivots) {
  return loop_of(pivots[-1], {a, {zeros(pivots, i32), {}}}, [&](const array& i, const values& now) -> values {
    const value& x = now[0];
    const array row = number_along(x.re, -2), at = number_along(x.re, -1);
    const value column = column_of(x, i);
    const array place = number_along(column.re, -1);
    const array size = select(place >= i, abs(column.re) + abs(column.im), full_like(column.re, -1.0));
    const array p = argmax(size, -1), there = row == expand_dims(expand_dims(p, -1), -1), here = row == i;
    const auto row_where = [&](const array& which) {
      return each_part([&](const array& part) { return broadcast_to(expand_dims(part, -2), x.re.shape()); },
                       summed(chosen(which, x, zero_like(x)), -2));
    };
    const value swapped = chosen(here, row_where(there), chosen(there, row_where(here), x));
    const value pivot = element_of(column_of(swapped, i), i);
    const array none = logical_and(pivot.re == 0.0, pivot.im == 0.0);
    const value divisor = chosen(none, {ones_like(pivot.re), zeros_like(pivot.re)}, pivot);
    const value factors = of(parts_of(column_of(swapped, i)) / parts_of(with_axis(divisor, -1)));
    const value lower =
        each_part([&](const array& part) { return broadcast_to(expand_dims(part, -1), x.re.shape()); }, factors);
    const value pivot_row = summed(chosen(here, swapped, zero_like(swapped)), -2);
    const value rest = minus(swapped, times(with_axis(factors, -1), with_axis(pivot_row, -2)));
    const array below = row > i;
    const value next = chosen(logical_and(below, at == i), lower, chosen(logical_and(below, at > i), rest, swapped));
    return {next, with_element(now[1], i, {p + 1, {}})};
  });
}
/// The x with a x = b.
inline value solution(const value& a, const value& b) {
  if (!a.is_complex() && !b.is_complex()) return {linalg::solve(a.re, b.re), {}};
  return of(linalg::solve(parts_of(a), parts_of(b)));
}
/// A triangle of a matrix.
inline value triangle(const value& x, bool lower, int diagonal = 0) {
  return each_part([&](const array& a) { return lower ? tril(a, -diagonal) : triu(a, diagonal); }, x);
}
/// The x with a x = b or x a = b of a complex triangle, its transpose (`how` is T) or its adjoint (C).
inline value triangular_solution(const value& a, const value& b, const linalg::triangular_solve_options& o, char how) {
  const auto transposed = [](const value& v) { return conjugate(adjoint(v)); };
  value x = triangle(a, o.lower, o.unit_diagonal ? 1 : 0);
  if (o.unit_diagonal) x.re = x.re + identity_like(x, x.re.extent(-1)).re;
  if (how == 'T') x = transposed(x);
  if (how == 'C') x = adjoint(x);
  return o.left_side ? solution(x, b) : transposed(solution(transposed(x), transposed(b)));
}

/// T = q^H a q of a Hermitian matrix: the matrix that is left, whose diagonals next to the middle are real, and q.
struct tridiagonal_form {
  value t, q;
};
inline tridiagonal_form tridiagonal_of(const value& a) {
  const std::int64_t n = a.re.extent(-1);
  const value q = identity_like(a, n);
  if (n < 2) return {a, q};
  const array all(true, {bool_, false, {n}});
  const values r = loop_of(n - 1, {a, q}, [&](const array& i, const values& now) -> values {
    const reflection h = reflection_of(column_of(now[0], i), i + 1);
    return {reflected(reflected_from_right(now[0], h.v, h.tau), h.v, conjugate(h.tau), all),
            reflected_from_right(now[1], h.v, h.tau)};
  });
  return {r[0], r[1]};
}
/// Eigenvalues in ascending order and eigenvectors of a Hermitian matrix, by way of a real tridiagonal one.
inline values complex_eigh(const value& a) {
  const tridiagonal_form f = tridiagonal_of(a);
  const linalg::eigh_result r = linalg::eigh(f.t.re);
  return {{r.eigenvalues, {}}, product(f.q, {r.eigenvectors, {}})};
}
/// u [..., m, m], s and vh [..., n, n] with m >= n, by way of a real bidiagonal matrix.
inline values complex_svd(const value& a) {
  const std::int64_t m = a.re.extent(-2), n = a.re.extent(-1);
  if (m < n) {
    const values r = complex_svd(adjoint(a));
    return {adjoint(r[2]), r[1], adjoint(r[0])};
  }
  const array all(true, {bool_, false, {n}});
  const values r =
      loop_of(n, {a, identity_like(a, m), identity_like(a, n)}, [&](const array& i, const values& now) -> values {
        const reflection left = reflection_of(column_of(now[0], i), i);
        const value x = reflected(now[0], left.v, conjugate(left.tau), all);
        const reflection right = reflection_of(column_of(adjoint(x), i), i + 1);
        return {reflected_from_right(x, right.v, right.tau), reflected_from_right(now[1], left.v, left.tau),
                reflected_from_right(now[2], right.v, right.tau)};
      });
  const linalg::svd_result s = linalg::svd(slice_in_dim(r[0].re, 0, n, -2));
  const auto columns = [&](std::int64_t from, std::int64_t to) {
    return each_part([&](const array& x) { return slice_in_dim(x, from, to, -1); }, r[1]);
  };
  value u = product(columns(0, n), {s.u, {}});
  if (m > n) {
    const value rest = columns(n, m);
    u = {concatenate({u.re, rest.re}, -1), concatenate({parts_of(u).im, parts_of(rest).im}, -1)};
  }
  return {u, {s.s, {}}, product({s.vh, {}}, adjoint(r[2]))};
}

}  // namespace tokamax::stablehlo::detail
