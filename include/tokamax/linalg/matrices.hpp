// tokamax/linalg/matrices.hpp: arrays as batches of matrices, which are their last two axes: checks, transposes, triangles.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/linalg/lu.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>    // slice_in_dim
#include <tokamax/lax/shapes/transpose.hpp>  // swapaxes
#include <tokamax/numpy/arange.hpp>          // eye
#include <tokamax/numpy/matmul.hpp>          // matmul
#include <tokamax/numpy/where.hpp>           // where

namespace tokamax::linalg::detail {

constexpr std::int64_t rows(const array& a) { return a.extent(a.rank() - 2); }
constexpr std::int64_t columns(const array& a) { return a.extent(a.rank() - 1); }
constexpr std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// The type of a batch like `a` of arrays with the extents `tail`: [..., m, n] -> [..., tail...].
constexpr array_type batch_type(const array& a, const shape& tail) {
  shape s;
  for (int i = 0; i + 2 < a.rank(); ++i) s.push_back(a.extent(i));
  for (std::int64_t e : tail) s.push_back(e);
  return {a.dtype(), false, s};
}

/// Rejects a call whose operand k is no batch of matrices of f32 or f64.
constexpr bool has_matrix(const call& c, int k, bool square = false) {
  const array& a = c[k];
  if (a.dtype() != f32 && a.dtype() != f64) {
    c.fail(message(c.self->name) << ": dtype", a.type(), "f32 or f64");
    return false;
  }
  if (a.rank() < 2 || (square && rows(a) != columns(a))) {
    c.fail(message(c.self->name) << ": matrix", a.type(), square ? "[..., n, n]" : "[..., m, n]");
    return false;
  }
  if (is_dynamic(a.shape())) {
    c.fail(message("dynamic extent: ") << c.self->name, a.type(), "extents known when it is traced");
    return false;
  }
  return true;
}
/// The same for a function: square matrices, or any. The result says whether the function may go on.
constexpr bool is_matrix(const char* what, const array& a, bool square, source_line l) {
  if (a.rank() >= 2 && (!square || rows(a) == columns(a))) return true;
  reject(a, l, what, a.type(), square ? "[..., n, n]" : "[..., m, n]");
  return false;
}

/// Decompositions work on matrices in the batch's leading axes by themselves, so a batch of calls is one call.
constexpr arrays batch_of_matrices(const call& c) {
  const arrays in = with_batch_axis(c);
  return bind_all(*c.self, in.data(), in.count(), c.attribute_words(), c.where);
}

/// [..., m, n] -> [..., n, m]
constexpr array transposed(const array& a) { return swapaxes(a, -1, -2); }
/// a x, where x is a batch of matrices as well.
constexpr array times(const array& a, const array& x) { return matmul(a, x); }
/// a with the column of each row scaled: a diag(d), where d is [..., n].
constexpr array times_diagonal(const array& a, const array& d) { return a * expand_dims(d, -2); }
/// diag(d) a, where d is [..., m].
constexpr array diagonal_times(const array& d, const array& a) { return expand_dims(d, -1) * a; }

/// Where the column is at most the row plus `diagonal`.
constexpr array below(std::int64_t m, std::int64_t n, std::int64_t diagonal) {
  const array from(static_cast<double>(diagonal), {i32, false, {}});
  return iota(i32, {m, n}, 0) + from >= iota(i32, {m, n}, 1);
}
/// The elements on and below a diagonal; zeros elsewhere.
constexpr array lower_triangle(const array& a, std::int64_t diagonal = 0) {
  return where(below(rows(a), columns(a), diagonal), a, zeros_like(a));
}
/// The elements on and above a diagonal.
constexpr array upper_triangle(const array& a, std::int64_t diagonal = 0) {
  return where(below(rows(a), columns(a), diagonal - 1), zeros_like(a), a);
}
/// The identity of the size and dtype of the matrices of `a`, which are square.
constexpr array identity_like(const array& a) { return eye(rows(a), a.dtype()); }
/// (a + a^T) / 2
constexpr array symmetric_part(const array& a) { return (a + transposed(a)) * 0.5; }

/// The elements on the diagonal: [..., m, n] -> [..., min(m, n)].
constexpr array diagonal_of(const array& a) {
  const std::int64_t k = lesser(rows(a), columns(a));
  array square = a;
  if (rows(a) != k) square = slice_in_dim(square, 0, k, -2);
  if (columns(a) != k) square = slice_in_dim(square, 0, k, -1);
  return reduce_sum(where(eye(k, bool_), square, zeros_like(square)), {a.rank() - 1});
}
/// The square matrices with these diagonals: [..., n] -> [..., n, n].
constexpr array diagonal_matrix(const array& d) {
  shape s = d.shape();
  s.push_back(d.extent(d.rank() - 1));
  return where(eye(s[s.rank() - 1], bool_), broadcast_to(expand_dims(d, -2), s), array(0.0, {d.dtype(), false, {}}));
}

/// The operands of a function in one floating dtype: f64 if one of them needs it, and f32 otherwise.
constexpr array in_precision(const array& a, dtype with = dtype::none) {
  dtype t = floating_for(a.dtype());
  if (with != dtype::none && a.type().weak) t = floating_for(with);
  if (bits_of(t) < 32) return a;  // infer says that it takes f32 and f64
  if (with != dtype::none && bits_of(floating_for(with)) > bits_of(t)) t = floating_for(with);
  return a.dtype() == t && !a.type().weak ? a : convert_element_type(a, t);
}

}  // namespace tokamax::linalg::detail
