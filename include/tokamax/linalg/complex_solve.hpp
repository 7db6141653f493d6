// tokamax/linalg/complex_solve.hpp: linear systems, inverses and eigenvalues of complex matrices, as real ones of twice the size.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/linalg/functions.cpp
#pragma once

#include <tokamax/lax/fourier/complex_parts.hpp>  // complex_parts
#include <tokamax/linalg/eig.hpp>                 // real_form
#include <tokamax/linalg/eigh.hpp>                // eigvalsh
#include <tokamax/linalg/solve.hpp>               // solve

namespace tokamax::linalg {

/// The x with a x = b: [[re, -im], [im, re]] is a real matrix that multiplies the parts of x, one above the other.
///
/// shapes  a [..., n, n], b [n] or [..., n, k] -> b.shape
/// dtypes  f32 or f64
/// errors  "solve: matrix", "solve: b"
/// source  jax.numpy.linalg.solve of complex matrices
constexpr complex_parts solve(const complex_parts& a, const complex_parts& b, source_line l = source_line::current()) {
  if (!detail::is_matrix("solve: matrix", a.re, true, l)) return b;
  const int axis = b.rank() == 1 ? -1 : -2;
  const std::int64_t n = a.extent(a.rank() - 1);
  const array x = solve(detail::real_form(a.re, a.im), concatenate({b.re, b.im}, axis, l), l);
  return {slice_in_dim(x, 0, n, axis, l), slice_in_dim(x, n, 2 * n, axis, l)};
}
/// The inverse, [..., n, n].
/// errors  "inv: matrix"
/// source  jax.numpy.linalg.inv of complex matrices
constexpr complex_parts inv(const complex_parts& a, source_line l = source_line::current()) {
  if (!detail::is_matrix("inv: matrix", a.re, true, l)) return a;
  const array one = broadcast_to(detail::identity_like(a.re), a.shape());
  return solve(a, {one, zeros_like(one)}, l);
}
/// The eigenvalues of a Hermitian matrix, in increasing order. The real matrix has each of them twice.
///
/// shapes  a [..., n, n] -> [..., n]
/// errors  those of eigvalsh
/// source  jax.numpy.linalg.eigvalsh of complex matrices
constexpr array eigvalsh(const complex_parts& a, source_line l = source_line::current()) {
  if (!detail::is_matrix("eigh: matrix", a.re, true, l)) return a.re;
  const array twice = eigvalsh(detail::real_form(a.re, a.im));
  shape s = twice.shape();
  s[s.rank() - 1] /= 2;
  s.push_back(2);
  return squeeze(slice_in_dim(reshape(twice, s, l), 0, 1, -1, l), -1, l);
}

}  // namespace tokamax::linalg
