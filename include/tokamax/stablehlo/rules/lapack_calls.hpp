// tokamax/stablehlo/rules/lapack_calls.hpp: rules of the custom calls of LAPACK that JAX writes for the CPU.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>              // slice
#include <tokamax/lax/shapes/reverse.hpp>              // reverse
#include <tokamax/linalg/cholesky.hpp>                 // cholesky, triangular_solve
#include <tokamax/linalg/complex_solve.hpp>            // inv
#include <tokamax/linalg/eig.hpp>                      // eig
#include <tokamax/linalg/lu.hpp>                       // lu_factor
#include <tokamax/linalg/products.hpp>                 // diagonal
#include <tokamax/linalg/schur.hpp>                    // schur
#include <tokamax/numpy/elementwise/predicates.hpp>    // isnan
#include <tokamax/stablehlo/rules/factorisations.hpp>  // complex_svd

#include <span>  // span

namespace tokamax::stablehlo::detail {

/// An option of a call.
inline std::int64_t whole_option(const rule_call& c, std::string_view called, std::int64_t otherwise) {
  for (const char* list : {"mhlo.backend_config", "backend_config"})
    if (const attribute* const a = c.find(list); a && a->is == attribute::form::record)
      for (std::size_t k = 0; k < a->items.size(); ++k)
        if (a->names[k] == called) return a->items[k].integer;
  return otherwise;
}
/// One that is a letter, which is written as its number.
inline char option(const rule_call& c, std::string_view called, char otherwise) {
  return static_cast<char>(whole_option(c, called, otherwise));
}
/// 0 for each matrix without NaN, and else 1: where LAPACK failed, programs put NaN.
inline array info_of(const value& x) { return astype(any(isnan(x.re), {-2, -1}), i32); }
/// What does not fail gives 0.
inline array no_info(const rule_call& c, int result) { return array(0, part_type(c.result(result))); }
/// The Hermitian matrix of which one triangle is given.
inline value hermitian(const value& x, bool lower) {
  const value half = triangle(x, lower, 1), other = adjoint(half), both = triangle(triangle(x, lower), !lower);
  return {both.re + half.re + other.re, x.is_complex() ? half.im + other.im : array()};
}
/// Rows and columns in reverse order, which makes an upper triangle a lower one.
inline value turned_around(const value& x) {
  const int rank = x.re.rank();
  return each_part([&](const array& a) { return reverse(a, {rank - 2, rank - 1}); }, x);
}

/// potrf: the factor, and whether it failed.
inline values cholesky_call(const rule_call& c) {
  const bool lower = option(c, "uplo", 'L') == 'L';
  const value a = lower ? c.at(0) : adjoint(c.at(0));
  const value l = a.is_complex() ? complex_cholesky(a) : value{linalg::cholesky(a.re, {.symmetrize_input = false}), {}};
  return {lower ? l : adjoint(l), {info_of(l), {}}};
}
/// getrf: the rows are counted from 1.
inline values lu_call(const rule_call& c) {
  const value none{no_info(c, 2), {}};
  if (c.is_complex()) {
    const values r = complex_lu(c.at(0), c.extents(1));
    return {r[0], r[1], none};
  }
  const linalg::packed_lu p = linalg::lu_factor(c[0]);
  return {{p.lu, {}}, {p.pivots + 1, {}}, none};
}
/// trsm
inline values triangular_call(const rule_call& c) {
  linalg::triangular_solve_options o;
  o.left_side = option(c, "side", 'L') == 'L';
  o.lower = option(c, "uplo", 'L') == 'L';
  o.unit_diagonal = option(c, "diag", 'N') == 'U';
  const char how = option(c, "trans_x", 'N');
  o.transpose_a = how != 'N';
  if (!c.is_complex()) return {{linalg::triangular_solve(c[0], c[1], o), {}}};
  return {triangular_solution(c.at(0), c.at(1), o, how)};
}
/// syevd and heevd: vectors before values.
inline values eigh_call(const rule_call& c) {
  const value a = hermitian(c.at(0), option(c, "uplo", 'L') == 'L'), none{no_info(c, 2), {}};
  if (a.is_complex()) {
    const values r = complex_eigh(a);
    return {r[1], r[0], none};
  }
  const linalg::eigh_result r = linalg::eigh(a.re);
  return {{r.eigenvectors, {}}, {r.eigenvalues, {}}, none};
}
/// gesdd: all vectors (A), those of the smaller extent (S), or none (N).
inline values svd_call(const rule_call& c) {
  const char mode = option(c, "mode", 'S');
  values r;
  if (c.is_complex()) {
    r = complex_svd(c.at(0));
  } else {
    const linalg::svd_result s = linalg::svd(c[0], mode == 'A');
    r = {{s.u, {}}, {s.s, {}}, {s.vh, {}}};
  }
  const auto part = [&](const value& x, int result) {
    if (mode == 'N') return zeros_of(x, c.extents(result));
    const shape& s = c.extents(result);
    shape from = s;
    for (int i = 0; i < s.rank(); ++i) from[i] = 0;
    return each_part([&](const array& a) { return slice(a, from, s); }, x);
  };
  return {c.at(0), r[1], part(r[0], 2), part(r[2], 3), {no_info(c, 4), {}}};
}
/// geev: values in two parts, left and right vectors.
inline values eig_call(const rule_call& c) {
  const linalg::eig_result r = linalg::eig(c[0]);
  const array zero = zeros(c.extents(2), c[0].dtype());
  value left{zero, zero}, right = of(r.eigenvectors);
  if (option(c, "compute_left", 'N') != 'N') {  // rows of the inverse, of length 1
    left = adjoint(of(linalg::inv(r.eigenvectors)));
    const array length = sqrt(expand_dims(sum(squared(left), -2), -2));
    left = each_part([&](const array& x) { return x / length; }, left);
  }
  if (option(c, "compute_right", 'V') == 'N') right = {zero, zero};
  return {{r.eigenvalues.re, {}}, {r.eigenvalues.im, {}}, left, right, {no_info(c, 4), {}}};
}
/// gees of real matrices: the form, its basis, eigenvalues in two parts, how many were chosen.
inline values schur_call(const rule_call& c) {
  if (option(c, "sort", 'N') != 'N') refuse(c.op, "a sort of eigenvalues", "none");
  const linalg::schur_result r = linalg::schur(c[0]);
  const std::int64_t n = r.t.extent(-1);
  const array d = linalg::diagonal(r.t, 0), zero = zeros_like(d);
  array re = d, im = zero;
  if (n > 1) {  // a block [[a, b], [c, d]] has the eigenvalues (a + d) / 2 +- sqrt((a - d)^2 / 4 + b c)
    const array low = linalg::diagonal(r.t, -1), high = linalg::diagonal(r.t, 1), block = low != 0.0;
    const array a = slice_in_dim(d, 0, n - 1, -1), e = slice_in_dim(d, 1, n, -1), half = (a - e) * 0.5;
    const array size = sqrt(maximum(-(half * half + low * high), zeros_like(half))), none = zeros_like(block);
    const array last = zeros_like(slice_in_dim(d, 0, 1, -1)), no = zeros_like(slice_in_dim(block, 0, 1, -1));
    const auto first_row = [&](const array& x, const array& end) { return concatenate({x, end}, -1); };
    const auto second_row = [&](const array& x, const array& end) { return concatenate({end, x}, -1); };
    const array first = first_row(block, no), second = second_row(block, no), mean = (a + e) * 0.5;
    re = select(first, first_row(mean, last), select(second, second_row(mean, last), d));
    im = select(first, first_row(size, last), select(second, -second_row(size, last), zero));
  }
  const value vectors{option(c, "mode", 'V') == 'N' ? zeros_like(r.z) : r.z, {}};
  return {{r.t, {}}, vectors, {re, {}}, {im, {}}, {no_info(c, 4), {}}, {no_info(c, 5), {}}};
}
/// Rows of a tridiagonal system, as a matrix.
inline values tridiagonal_call(const rule_call& c) {
  const std::int64_t n = c.at(1).re.extent(-1);
  shape s = c.at(1).re.shape();
  s.push_back(n);
  const array row = iota(i32, s, s.rank() - 2), column = iota(i32, s, s.rank() - 1);
  const auto band = [&](const array& low, const array& middle, const array& high) {
    const auto at = [&](const array& which, const array& x) {
      return select(which, broadcast_to(expand_dims(x, -1), s), zeros(s, x.dtype()));
    };
    return at(column == row, middle) + at(column == row - 1, low) + at(column == row + 1, high);
  };
  value a{band(c.at(0).re, c.at(1).re, c.at(2).re), {}};
  if (c.is_complex()) a.im = band(c.parts(0).im, c.parts(1).im, c.parts(2).im);
  return {c.at(0), c.at(1), c.at(2), solution(a, c.at(3)), {no_info(c, 4), {}}};
}
/// geqrf: R on and above the diagonal, the vectors of the reflections below it, and their factors.
inline values qr_call(const rule_call& c) {
  values r = reflected_columns(c.at(0), c.extents(1), 0, false);
  if (c.op.types.size() > 2) r.push_back({no_info(c, 2), {}});
  return r;
}
/// orgqr and ungqr: the product of reflections, as a matrix.
inline values reflections_call(const rule_call& c) { return {product_of_reflections(c.at(0), c.at(1), c.extents())}; }
/// gehrd: a Hessenberg matrix, with the vectors of the reflections below it.
inline values hessenberg_call(const rule_call& c) {
  const std::int64_t n = c.at(0).re.extent(-1);
  if (whole_option(c, "low", 1) != 1 || whole_option(c, "high", n) != n) refuse(c.op, "a part of the rows", "all rows");
  if (n < 2) return {c.at(0), zeros_of(c.at(0), c.extents(1)), {no_info(c, 2), {}}};
  const values r = reflected_columns(c.at(0), c.extents(1), 1, true);
  return {r[0], r[1], {no_info(c, 2), {}}};
}
/// sytrd and hetrd: vectors of reflections beside a tridiagonal matrix, its diagonal, that beside it, and the factors.
inline values tridiagonal_form_call(const rule_call& c) {
  const bool lower = option(c, "uplo", 'L') == 'L';
  const std::int64_t n = c.at(0).re.extent(-1);
  const value none{no_info(c, 4), {}}, a = hermitian(c.at(0), lower);
  if (n < 2)
    return {c.at(0),
            {linalg::diagonal(a.re, 0), {}},
            {zeros(c.extents(2), a.re.dtype()), {}},
            zeros_of(a, c.extents(3)),
            none};
  const values r = reflected_columns(lower ? a : turned_around(a), c.extents(3), 1, true);
  array d = linalg::diagonal(r[0].re, 0), e = linalg::diagonal(r[0].re, -1);
  value form = r[0], factors = r[1];
  if (!lower) {
    const auto last_first = [](const array& x) { return reverse(x, {x.rank() - 1}); };
    form = turned_around(form);
    d = last_first(d);
    e = last_first(e);
    factors = each_part(last_first, factors);
  }
  const value kept = triangle(form, lower), other = triangle(c.at(0), !lower, 1);
  form = {kept.re + other.re, kept.is_complex() ? kept.im + other.im : array()};
  return {form, {d, {}}, {e, {}}, factors, none};
}

/// By the name without the letter of the type: s, d, c or z.
inline std::span<const rule_entry> lapack_calls() {
  static constexpr rule_entry all[] = {
      {"lapack_?gees_ffi", "linalg::schur", schur_call},
      {"lapack_?geev_ffi", "linalg::eig", eig_call},
      {"lapack_?gehrd_ffi", "Householder's reflections in a loop", hessenberg_call},
      {"lapack_?geqrf_ffi", "Householder's reflections in a loop", qr_call},
      {"lapack_?gesdd_ffi", "linalg::svd", svd_call},
      {"lapack_?getrf_ffi", "linalg::lu_factor", lu_call},
      {"lapack_?gtsv_ffi", "linalg::solve", tridiagonal_call},
      {"lapack_?heevd_ffi", "a tridiagonal form and linalg::eigh", eigh_call},
      {"lapack_?hetrd_ffi", "Householder's reflections in a loop", tridiagonal_form_call},
      {"lapack_?orgqr_ffi", "reflections in a loop", reflections_call},
      {"lapack_?potrf_ffi", "linalg::cholesky", cholesky_call},
      {"lapack_?syevd_ffi", "linalg::eigh", eigh_call},
      {"lapack_?sytrd_ffi", "Householder's reflections in a loop", tridiagonal_form_call},
      {"lapack_?trsm_ffi", "linalg::triangular_solve", triangular_call},
      {"lapack_?ungqr_ffi", "reflections in a loop", reflections_call},
      {"Qr", "Householder's reflections in a loop", qr_call},
      {"ProductOfElementaryHouseholderReflectors", "reflections in a loop", reflections_call},
  };
  return all;
}

}  // namespace tokamax::stablehlo::detail
