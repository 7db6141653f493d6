// tokamax/linalg/norm.hpp: norms of vectors and matrices, and the condition number: norm, vector_norm, matrix_norm, cond.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/linalg/functions.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>    // sum, max, min
#include <tokamax/linalg/solve.hpp>  // inv
#include <tokamax/linalg/svd.hpp>    // svdvals

#include <limits>  // infinity

namespace tokamax::linalg {

/// Which norm: a number, or one of those with a name.
struct order {
  enum class name : std::uint8_t { usual, frobenius, nuclear, number };
  name kind = name::usual;
  double p = 2;
  constexpr order() = default;
  constexpr order(double number) : kind(name::number), p(number) {}  // NOLINT: orders are numbers
  constexpr explicit order(name n) : kind(n) {}
};
inline constexpr order fro{order::name::frobenius};  ///< the root of the sum of squares of a matrix
inline constexpr order nuc{order::name::nuclear};    ///< the sum of the singular values of a matrix
inline constexpr double inf = std::numeric_limits<double>::infinity();

/// The options of norms of vectors.
struct vector_norm_options {
  order ord = {};  ///< p: (sum |x|^p)^(1/p); inf and -inf: the largest and least |x|; 0: how many are not zero; else 2
  axes axis = every_axis;
  bool keepdims = false;
};
/// The norm of vectors along some axes; of all elements, if no axis is given.
///
/// shapes  x [...] -> x without `axis` (extent 1 with .keepdims)
/// dtypes  floating, computed in f32 or f64 and rounded once; integers become f32
/// errors  "norm: ord" for the name of a matrix norm, "reduce_sum: axis", "max: extents" of no elements
/// source  jax.numpy.linalg.vector_norm. The derivative of the norm of zeros is NaN, as there
constexpr array vector_norm(const array& x, const vector_norm_options& o = {}, source_line l = source_line::current()) {
  const reduce_options along{o.axis, o.keepdims};
  const double p = o.ord.p;
  if (o.ord.kind != order::name::usual && o.ord.kind != order::name::number) {
    reject(x, l, "norm: ord", "the name of a matrix norm", "a number");
    return x;
  }
  return tokamax::detail::rounded_once(tokamax::detail::in_floats(x), [&](const array& v) {
    if (p == inf && v.size() == 0) return sum(v, along, l);  // of no elements the largest is 0
    if (p == inf) return max(abs(v), along, l);
    if (p == -inf) return min(abs(v), along, l);
    if (p == 0) return sum(astype(v != zeros_like(v), v.dtype()), along, l);
    if (p == 1) return sum(abs(v), along, l);
    if (p == 2) return sqrt(sum(v * v, along, l), l);
    return power(sum(power(abs(v), array(p)), along, l), array(1 / p), l);
  });
}

/// The options of norms of matrices.
struct matrix_norm_options {
  order ord = {};  ///< fro (or none), nuc; 1, -1: the largest and least sum of a column, inf, -inf: of a row; 2, -2:
                   ///< the largest and least singular value
  bool keepdims = false;
};
/// The norm of matrices, which are the last two axes.
///
/// shapes  x [..., m, n] -> [...] ([..., 1, 1] with .keepdims)
/// dtypes  floating, sums computed in f32 or f64 and rounded once; integers become f32; f32 or f64 where singular values
///         are needed
/// errors  "norm: matrix", "norm: ord", "max: extents" of no elements
/// source  jax.numpy.linalg.matrix_norm
constexpr array matrix_norm(const array& x, const matrix_norm_options& o = {}, source_line l = source_line::current()) {
  if (!detail::is_matrix("norm: matrix", x, false, l)) return x;
  const array a = tokamax::detail::in_floats(x);
  const double p = o.ord.p;
  array result;
  if (o.ord.kind == order::name::usual || o.ord.kind == order::name::frobenius) {
    result =
        tokamax::detail::rounded_once(a, [&](const array& v) { return sqrt(sum(v * v, {.axis = {-2, -1}}, l), l); });
  } else if (o.ord.kind == order::name::nuclear) {
    result = sum(svdvals(a, l), {.axis = {-1}}, l);
  } else if (p == 2) {
    result = max(svdvals(a, l), {.axis = {-1}}, l);
  } else if (p == -2) {
    result = min(svdvals(a, l), {.axis = {-1}}, l);
  } else if (p == 1 || p == -1 || p == inf || p == -inf) {
    const array sums = sum(abs(a), {.axis = {p == 1 || p == -1 ? -2 : -1}}, l);
    if (p > 0)
      result = max(sums, {.axis = {-1}}, l);
    else
      result = min(sums, {.axis = {-1}}, l);
  } else {
    reject(x, l, "norm: ord", message() << static_cast<std::int64_t>(p),
           "1, 2 or inf, or one of them negative, fro or nuc");
    return a;
  }
  if (!o.keepdims) return result;
  return expand_dims(expand_dims(result, -1), -1);
}

/// The options of norm.
struct norm_options {
  order ord = {};
  axes axis =
      every_axis;  ///< one: of vectors along it; two: of the matrices of rows along the first and columns along the other
  bool keepdims = false;
};
/// A norm of vectors or matrices. Without axes it is that of x itself, which has one or two axes then; without `ord` either,
/// it is the root of the sum of all squares.
///
/// shapes  x [...] -> x without `axis` (extent 1 with .keepdims)
/// errors  "norm: axis" for more than two, and those of vector_norm and matrix_norm
/// source  jax.numpy.linalg.norm
constexpr array norm(const array& x, const norm_options& o = {}, source_line l = source_line::current()) {
  const bool all = o.axis.count < 0;
  if ((all && o.ord.kind == order::name::usual) || (!all && o.axis.rank() == 1) || (all && x.rank() == 1))
    return vector_norm(x, {o.ord, o.axis, o.keepdims}, l);
  if ((all && x.rank() != 2) || (!all && o.axis.rank() != 2)) {
    if (all)
      reject(x, l, "norm: axis", x.type(), "one or two axes");
    else
      reject(x, l, "norm: axis", message() << o.axis, "one or two axes");
    return x;
  }
  int row = 0, column = 1;
  if (!all) {
    row = checked_axis("norm: axis", o.axis[0], x, l);
    column = checked_axis("norm: axis", o.axis[1], x, l);
  }
  axes last;
  for (int i = 0; i < x.rank(); ++i)
    if (i != row && i != column) last.push_back(i);
  last.push_back(row);
  last.push_back(column);
  if (row == column) {
    reject(x, l, "norm: axis", message() << o.axis, "two different axes");
    return x;
  }
  const array result = matrix_norm(transpose(x, last, l), {o.ord}, l);
  if (!o.keepdims) return result;
  shape kept = x.shape();
  kept[row] = kept[column] = 1;
  return reshape(result, kept, l);
}

/// The condition number: the norm of a times that of its inverse. By default it is the largest singular value divided by the
/// least one, which any matrix has.
///
/// shapes  a [..., m, n] -> [...]; square for other orders than 2 and -2
/// errors  those of matrix_norm, svd and inv
/// source  jax.numpy.linalg.cond
constexpr array cond(const array& a, order ord = {}, source_line l = source_line::current()) {
  if (ord.kind == order::name::usual || (ord.kind == order::name::number && (ord.p == 2 || ord.p == -2))) {
    const array s = svdvals(a, l);
    const array largest = max(s, {.axis = {-1}}, l), least = min(s, {.axis = {-1}}, l);
    if (ord.kind == order::name::number && ord.p == -2) return least / largest;
    return largest / least;
  }
  return matrix_norm(a, {ord}, l) * matrix_norm(inv(a, l), {ord}, l);
}

}  // namespace tokamax::linalg
