// tokamax/stablehlo/rules/lapack_calls.hpp: rules of the custom calls of LAPACK that JAX writes for the CPU.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/linalg/cholesky.hpp>                    // cholesky, triangular_solve
#include <tokamax/linalg/eig.hpp>                         // eig
#include <tokamax/linalg/eigh.hpp>                        // eigh
#include <tokamax/linalg/lu.hpp>                          // lu_factor
#include <tokamax/linalg/solve.hpp>                       // solve
#include <tokamax/linalg/svd.hpp>                         // svd
#include <tokamax/numpy/creation/matrices.hpp>            // tril
#include <tokamax/numpy/elementwise/predicates.hpp>       // isnan
#include <tokamax/stablehlo/rules/control_rules.hpp>      // in_this_trace
#include <tokamax/transforms/control_flow/fori_loop.hpp>  // fori_loop

#include <span>  // span

namespace tokamax::stablehlo::detail {

/// The letter of an option, which is written as its number.
inline char option(const rule_call& c, std::string_view called, char otherwise) {
  for (const char* list : {"mhlo.backend_config", "backend_config"})
    if (const attribute* const a = c.find(list); a && a->is == attribute::form::record)
      for (std::size_t k = 0; k < a->items.size(); ++k)
        if (a->names[k] == called) return static_cast<char>(a->items[k].integer);
  return otherwise;
}
/// 0 for each matrix without NaN, and else 1: where LAPACK failed, programs put NaN.
inline array info_of(const array& x) { return astype(any(isnan(x), {-2, -1}), i32); }
/// What does not fail gives 0.
inline array no_info(const rule_call& c, int result) { return array(0, part_type(c.result(result))); }

/// potrf: the factor, and whether it failed.
inline values cholesky_call(const rule_call& c) {
  const bool lower = option(c, "uplo", 'L') == 'L';
  const array l = linalg::cholesky(lower ? c[0] : swapaxes(c[0], -1, -2), {.symmetrize_input = false});
  return {{lower ? l : swapaxes(l, -1, -2), {}}, {info_of(l), {}}};
}
/// getrf: the rows are counted from 1.
inline values lu_call(const rule_call& c) {
  const linalg::packed_lu p = linalg::lu_factor(c[0]);
  return {{p.lu, {}}, {p.pivots + 1, {}}, {no_info(c, 2), {}}};
}
/// trsm
inline values triangular_call(const rule_call& c) {
  linalg::triangular_solve_options o;
  o.left_side = option(c, "side", 'L') == 'L';
  o.lower = option(c, "uplo", 'L') == 'L';
  o.unit_diagonal = option(c, "diag", 'N') == 'U';
  o.transpose_a = option(c, "trans_x", 'N') != 'N';
  return {{linalg::triangular_solve(c[0], c[1], o), {}}};
}
/// syevd: vectors before values.
inline values eigh_call(const rule_call& c) {
  array x = option(c, "uplo", 'L') == 'L' ? c[0] : swapaxes(c[0], -1, -2);
  x = tril(x) + swapaxes(tril(x, -1), -1, -2);  // the other triangle is not read
  const linalg::eigh_result r = linalg::eigh(x);
  return {{r.eigenvectors, {}}, {r.eigenvalues, {}}, {no_info(c, 2), {}}};
}
/// gesdd: all vectors (A), those of the smaller extent (S), or none (N).
inline values svd_call(const rule_call& c) {
  const char mode = option(c, "mode", 'S');
  const linalg::svd_result r = linalg::svd(c[0], mode == 'A');
  const auto like = [&](const array& x, int result) {
    return mode == 'N' ? zeros(c.extents(result), c[0].dtype()) : x;
  };
  return {c.at(0), {r.s, {}}, {like(r.u, 2), {}}, {like(r.vh, 3), {}}, {no_info(c, 4), {}}};
}
/// geev: values in two parts, left and right vectors.
inline values eig_call(const rule_call& c) {
  if (option(c, "compute_left", 'N') != 'N') refuse(c.op, "left eigenvectors", "right ones");
  const linalg::eig_result r = linalg::eig(c[0]);
  const array none = zeros(c.extents(2), c[0].dtype());
  return {{r.eigenvalues.re, {}}, {r.eigenvalues.im, {}}, {none, none}, of(r.eigenvectors), {no_info(c, 4), {}}};
}
/// Rows of a tridiagonal system, as a matrix.
inline values tridiagonal_call(const rule_call& c) {
  const array &low = c[0], &middle = c[1], &high = c[2];
  const std::int64_t n = middle.extent(-1);
  shape s = middle.shape();
  s.push_back(n);
  const array row = iota(i32, s, s.rank() - 2), column = iota(i32, s, s.rank() - 1), zero = zeros(s, middle.dtype());
  const auto by_row = [&](const array& x) { return broadcast_to(expand_dims(x, x.rank()), s); };
  const array a = select(column == row, by_row(middle), zero) + select(column == row - 1, by_row(low), zero) +
                  select(column == row + 1, by_row(high), zero);
  return {c.at(0), c.at(1), c.at(2), {linalg::solve(a, c[3]), {}}, {no_info(c, 4), {}}};
}

/// Reflection number i of the columns of a: the vector is 1 at its place, and below it as `a` has it.
inline array reflector(const array& a, const array& i) {
  const array column = sum(select(iota(i32, a.shape(), a.rank() - 1) == i, a, zeros_like(a)), -1);  // [..., m]
  const array row = iota(i32, column.shape(), column.rank() - 1);
  return select(row > i, column, astype(row == i, a.dtype()));
}
/// x - tau v (v^T x)
inline array reflected(const array& x, const array& v, const array& tau, const array& columns) {
  const array w =
      select(columns, sum(expand_dims(v, v.rank()) * x, -2), array(0.0, {x.dtype(), false, {}}));  // [..., n]
  return x - expand_dims(expand_dims(tau, tau.rank()), tau.rank()) * expand_dims(v, v.rank()) *
                 expand_dims(w, w.rank() - 1);
}
/// Householder's reflections: R on and above the diagonal, the vectors below it, and the factors of the reflections.
inline values qr_call(const rule_call& c) {
  const std::int64_t count = c.extents(1)[-1];
  const std::vector<array> init{in_this_trace(c[0]), in_this_trace(zeros(c.extents(1), c[0].dtype()))};
  const auto step = [&](const array& i, const std::vector<array>& carry) -> std::vector<array> {
    const array& a = carry[0];
    const array x = reflector(a, i), row = iota(i32, x.shape(), x.rank() - 1);
    const array alpha =
        sum(sum(select(logical_and(iota(i32, a.shape(), a.rank() - 1) == i, iota(i32, a.shape(), a.rank() - 2) == i), a,
                       zeros_like(a)),
                -1),
            -1);
    const array below = select(row > i, x, zeros_like(x)), rest = sum(below * below, -1), none = rest == 0.0;
    const array norm = sqrt(alpha * alpha + rest), beta = select(alpha >= 0.0, -norm, norm);
    const array tau = select(none, zeros_like(beta), (beta - alpha) / select(none, ones_like(beta), beta));
    const array scale = select(none, ones_like(beta), alpha - beta);
    const array v = select(row == i, ones_like(x), below / expand_dims(scale, scale.rank()));
    const array column = iota(i32, {a.extent(-1)}, 0);
    array next = reflected(a, v, tau, column >= i);
    const array stored = logical_and(iota(i32, a.shape(), a.rank() - 1) == i, iota(i32, a.shape(), a.rank() - 2) > i);
    next = select(stored, broadcast_to(expand_dims(v, v.rank()), a.shape()), next);
    const array place = iota(i32, carry[1].shape(), carry[1].rank() - 1);
    return {next, select(place == i, broadcast_to(expand_dims(tau, tau.rank()), carry[1].shape()), carry[1])};
  };
  const std::vector<array> r = fori_loop(0, count, step, init);
  return {{r[0], {}}, {r[1], {}}};
}
/// The product of reflections, as a matrix.
inline values reflections_call(const rule_call& c) {
  const array a = in_this_trace(c[0]), tau = in_this_trace(c[1]);
  const std::int64_t count = tau.extent(-1);
  const shape& s = c.extents();
  const array start = in_this_trace(astype(iota(i32, s, s.rank() - 2) == iota(i32, s, s.rank() - 1), a.dtype()));
  const array all(true, {bool_, false, {s[-1]}});
  const auto step = [&](const array& k, const array& q) -> array {
    const array i = array(static_cast<double>(count - 1), {i32, false, {}}) - k;
    const array place = iota(i32, tau.shape(), tau.rank() - 1);
    return reflected(q, reflector(a, i), sum(select(place == i, tau, zeros_like(tau)), -1), all);
  };
  return {{fori_loop(0, count, step, start), {}}};
}

/// By the name without the letter of the type, which may be s or d.
inline std::span<const rule_entry> lapack_calls() {
  static constexpr rule_entry all[] = {
      {"lapack_?geev_ffi", "linalg::eig", eig_call},
      {"lapack_?geqrf_ffi", "Householder's reflections in a loop", qr_call},
      {"lapack_?gesdd_ffi", "linalg::svd", svd_call},
      {"lapack_?getrf_ffi", "linalg::lu_factor", lu_call},
      {"lapack_?gtsv_ffi", "linalg::solve", tridiagonal_call},
      {"lapack_?orgqr_ffi", "reflections in a loop", reflections_call},
      {"lapack_?potrf_ffi", "linalg::cholesky", cholesky_call},
      {"lapack_?syevd_ffi", "linalg::eigh", eigh_call},
      {"lapack_?trsm_ffi", "linalg::triangular_solve", triangular_call},
      {"Qr", "Householder's reflections in a loop", qr_call},
      {"ProductOfElementaryHouseholderReflectors", "reflections in a loop", reflections_call},
  };
  return all;
}

}  // namespace tokamax::stablehlo::detail
