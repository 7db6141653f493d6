// tokamax/numpy/creation/matrices.hpp: diagonals and triangles of matrices: eye, tri, tril, diag, trace, vander, tril_indices.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/creation.cpp
#pragma once

#include <tokamax/core/arrays_of.hpp>           // arrays_of
#include <tokamax/lax/indexing/scatter.hpp>     // scatter
#include <tokamax/lax/reduce.hpp>               // sum
#include <tokamax/lax/shapes/concatenate.hpp>   // concatenate, pad
#include <tokamax/lax/shapes/reverse.hpp>       // reverse
#include <tokamax/numpy/arange.hpp>             // index_list_of
#include <tokamax/numpy/manipulation/axes.hpp>  // moveaxis
#include <tokamax/numpy/take.hpp>               // take

namespace tokamax {

namespace detail {
/// Column minus row of each element of a matrix.
constexpr array offsets_from_diagonal(std::int64_t rows, std::int64_t columns, source_line l) {
  return iota(i32, {rows, columns}, 1, l) - iota(i32, {rows, columns}, 0, l);
}
constexpr array number_of_index(std::int64_t v) { return array(v, {i32, false, {}}); }
}  // namespace detail

/// Ones on the k-th diagonal above the main one (below, if k is negative), zeros elsewhere.
///
/// shapes  -> [rows, columns]
/// errors  "iota: shape" for negative extents
/// source  jax.numpy.eye, identity
constexpr array eye(std::int64_t rows, std::int64_t columns, std::int64_t k = 0, dtype type = f32,
                    source_line l = source_line::current()) {
  return astype(detail::offsets_from_diagonal(rows, columns, l) == detail::number_of_index(k), type);
}
constexpr array identity(std::int64_t n, dtype type = f32, source_line l = source_line::current()) {
  return eye(n, n, 0, type, l);
}
/// Ones on and below the k-th diagonal.
/// source  jax.numpy.tri
constexpr array tri(std::int64_t rows, std::int64_t columns, std::int64_t k = 0, dtype type = f32,
                    source_line l = source_line::current()) {
  return astype(detail::offsets_from_diagonal(rows, columns, l) <= detail::number_of_index(k), type);
}

/// Matrices with zeros above (tril) or below (triu) the k-th diagonal.
///
/// shapes  [..., m, n] -> the same
/// errors  "tril: operand", "triu: operand" of fewer than two axes
/// source  jax.numpy.tril, triu
constexpr array tril(const array& x, std::int64_t k = 0, source_line l = source_line::current()) {
  if (x.rank() < 2) {
    reject(x, l, "tril: operand", x.type(), "two axes or more");
    return x;
  }
  const array kept = detail::offsets_from_diagonal(x.extent(-2), x.extent(-1), l) <= detail::number_of_index(k);
  return select(broadcast_to(kept, x.shape(), l), x, zeros_like(x), l);
}
constexpr array triu(const array& x, std::int64_t k = 0, source_line l = source_line::current()) {
  if (x.rank() < 2) {
    reject(x, l, "triu: operand", x.type(), "two axes or more");
    return x;
  }
  const array kept = detail::offsets_from_diagonal(x.extent(-2), x.extent(-1), l) >= detail::number_of_index(k);
  return select(broadcast_to(kept, x.shape(), l), x, zeros_like(x), l);
}

/// Which diagonal, of which axes.
struct diagonal_options {
  std::int64_t offset = 0;  ///< above the main one; negative: below
  int axis1 = 0, axis2 = 1;
};
/// The elements of a diagonal, along a new last axis.
///
/// shapes  [..., m, n, ...] -> [..., length of the diagonal]
/// errors  "diagonal: axis" that x does not have, or the same twice
/// source  jax.numpy.diagonal
constexpr array diagonal(const array& x, diagonal_options o = {}, source_line l = source_line::current()) {
  if (x.rank() < 2) {
    reject(x, l, "diagonal: operand", x.type(), "two axes or more");
    return x;
  }
  if (!is_known("diagonal", x, l)) return x;
  const axes two = detail::checked_axes("diagonal: axis", {o.axis1, o.axis2}, x, l);
  const array y = moveaxis(x, two, {x.rank() - 2, x.rank() - 1}, l);
  const std::int64_t m = y.extent(-2), n = y.extent(-1), row = o.offset < 0 ? -o.offset : 0,
                     column = o.offset > 0 ? o.offset : 0;
  std::int64_t count = m - row < n - column ? m - row : n - column;
  if (count < 0) count = 0;
  shape flat;
  for (int i = 0; i + 2 < y.rank(); ++i) flat.push_back(y.extent(i));
  flat.push_back(mul_extent(m, n));
  const array place =
      iota(i32, {count}, 0) * detail::number_of_index(n + 1) + detail::number_of_index(row * n + column);
  return take(reshape(y, flat, l), place, flat.rank() - 1, l);
}
/// The sum of a diagonal.
/// source  jax.numpy.trace
constexpr array trace(const array& x, diagonal_options o = {}, source_line l = source_line::current()) {
  return sum(diagonal(x, o, l), {{-1}}, l);
}
/// A matrix with x [n] on its k-th diagonal, or that diagonal of a matrix x [m, n].
/// errors  "diag: operand" of another number of axes
/// source  jax.numpy.diag, diagflat
constexpr array diag(const array& x, std::int64_t k = 0, source_line l = source_line::current()) {
  if (x.rank() == 2) return diagonal(x, {.offset = k}, l);
  if (x.rank() != 1) {
    reject(x, l, "diag: operand", x.type(), "one or two axes");
    return x;
  }
  if (!is_known("diag", x, l)) return x;
  const std::int64_t above = k > 0 ? k : 0, below = k < 0 ? -k : 0, n = x.extent(0) + above + below;
  const array column = pad(x, 0, {above}, {below});  // x[i - above] at column i
  array row = column;
  if (k < 0) row = pad(x, 0, {0}, {below});
  shape s{n, n};
  const array on = detail::offsets_from_diagonal(n, n, l) == detail::number_of_index(k);
  return select(on, broadcast_to(k < 0 ? row : column, s, l), zeros(s, x.dtype()), l);
}
constexpr array diagflat(const array& x, std::int64_t k = 0, source_line l = source_line::current()) {
  return diag(ravel(x, l), k, l);
}

/// Powers of x as columns, x^(n - 1), ..., x, 1, or from 1 on if `increasing`.
/// errors  "vander: operand" of other than one axis
/// source  jax.numpy.vander
constexpr array vander(const array& x, std::int64_t n, bool increasing = false,
                       source_line l = source_line::current()) {
  if (x.rank() != 1) {
    reject(x, l, "vander: operand", x.type(), "one axis");
    return x;
  }
  arrays columns;
  array power_of_x = ones_like(x);
  for (std::int64_t k = 0; k < n; ++k, power_of_x = power_of_x * x) columns.push_back(expand_dims(power_of_x, 1));
  if (columns.empty()) return zeros({x.extent(0), 0}, x.dtype(), l);
  const array y = concatenate(columns, 1, l);
  if (increasing) return y;
  return reverse(y, {1}, l);
}

/// Rows and columns of the elements on and below (above) the k-th diagonal of an [n, m] matrix.
/// source  jax.numpy.tril_indices, triu_indices
constexpr arrays_of<2> tril_indices(std::int64_t n, std::int64_t m, std::int64_t k = 0) {
  vec<std::int64_t> rows, columns;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m && j <= i + k; ++j) rows.push_back(i), columns.push_back(j);
  return {detail::index_list_of(rows), detail::index_list_of(columns)};
}
constexpr arrays_of<2> triu_indices(std::int64_t n, std::int64_t m, std::int64_t k = 0) {
  vec<std::int64_t> rows, columns;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + k > 0 ? i + k : 0; j < m; ++j) rows.push_back(i), columns.push_back(j);
  return {detail::index_list_of(rows), detail::index_list_of(columns)};
}
/// The same for the matrix x.
/// source  jax.numpy.tril_indices_from, triu_indices_from
constexpr arrays_of<2> tril_indices_from(const array& x, std::int64_t k = 0) {
  return tril_indices(x.extent(-2), x.extent(-1), k);
}
constexpr arrays_of<2> triu_indices_from(const array& x, std::int64_t k = 0) {
  return triu_indices(x.extent(-2), x.extent(-1), k);
}
/// The indices of a main diagonal, once for each of `count` axes.
/// source  jax.numpy.diag_indices, diag_indices_from
constexpr arrays diag_indices(std::int64_t n, int count = 2, source_line l = source_line::current()) {
  arrays out;
  for (int k = 0; k < count; ++k) out.push_back(iota(i32, {n}, 0, l));
  return out;
}
constexpr arrays diag_indices_from(const array& x, source_line l = source_line::current()) {
  return diag_indices(x.extent(0), x.rank(), l);
}
/// x with `value` on its main diagonal: the elements whose indices are all equal.
///
/// shapes  value scalar, or [length of the diagonal]
/// errors  "fill_diagonal: operand" of fewer than two axes, or of more with different extents
/// source  jax.numpy.fill_diagonal
constexpr array fill_diagonal(const array& x, const array& value, source_line l = source_line::current()) {
  if (!is_known("fill_diagonal", x, l)) return x;
  bool ok = x.rank() >= 2;
  std::int64_t n = ok ? x.extent(0) : 0;
  for (int i = 1; ok && i < x.rank(); ++i) {
    ok = x.rank() == 2 || x.extent(i) == n;
    n = x.extent(i) < n ? x.extent(i) : n;
  }
  if (!ok) {
    reject(x, l, "fill_diagonal: operand", x.type(), "two axes, or more of equal extents");
    return x;
  }
  const std::int64_t step = [&] {
    std::int64_t total = 0;
    for (int i = 0; i < x.rank(); ++i) total += row_major(x.shape())[i];
    return total;
  }();
  const array place = iota(i32, {n}, 0) * detail::number_of_index(step);
  const array update = broadcast_to(astype(value, x.dtype()), {n}, l);
  return reshape(scatter(ravel(x), place, update), x.shape());
}

}  // namespace tokamax
