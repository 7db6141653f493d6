// tokamax/linalg/products.hpp: products of vectors and of many matrices: multi_dot, outer, cross, vecdot, trace, diagonal.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/linalg/functions.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>              // sum
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/linalg/matrices.hpp>         // diagonal_of

#include <vector>  // vector

namespace tokamax::linalg {

namespace detail {
/// In which order a chain of matrices is multiplied. Matrix i is extents[i] x extents[i + 1].
struct chain_order {
  vec<std::int64_t> split;  ///< [first * n + last]: the matrix before which the chain is divided
  int n = 0;
  /// The cheapest order of every part of the chain follows from those of shorter parts.
  constexpr explicit chain_order(const vec<std::int64_t>& extents) : n(extents.count() - 1) {
    const auto cells = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    split.resize(cells, 0);
    vec<double> cost(cells, 0.0);
    for (int length = 2; length <= n; ++length)
      for (int first = 0, last = length - 1; last < n; ++first, ++last) {
        double best = -1;
        for (int at = first + 1; at <= last; ++at) {
          const double here = cost[first * n + at - 1] + cost[at * n + last] +
                              static_cast<double>(extents[first]) * static_cast<double>(extents[at]) *
                                  static_cast<double>(extents[last + 1]);
          if (best >= 0 && here >= best) continue;
          best = here;
          split[first * n + last] = at;
        }
        cost[first * n + last] = best;
      }
  }
  constexpr array product(const arrays& xs, int first, int last, source_line l) const {
    if (first == last) return xs[first];
    const int at = static_cast<int>(split[first * n + last]);
    return matmul(product(xs, first, at - 1, l), product(xs, at, last, l), {}, l);
  }
};
}  // namespace detail

/// The product of two or more matrices, in the order that needs the fewest multiplications. The first and the last one may
/// be vectors.
///
/// shapes  [m] or [m, k1], [k1, k2], ..., [kn, n] or [kn] -> [m, n] without the axes of vectors
/// errors  "multi_dot: operands" of fewer than two, "multi_dot: operand" that is no matrix, "dot_general: ..."
/// source  jax.numpy.linalg.multi_dot
constexpr array multi_dot(const arrays& given, source_line l = source_line::current()) {
  const int n = given.count();
  if (n < 2) return tokamax::detail::impossible(f32, "multi_dot: operands", message() << n, "two or more", l);
  arrays xs;
  vec<std::int64_t> extents;
  for (int k = 0; k < n; ++k) {
    const array& x = given[k];
    const bool end = k == 0 || k == n - 1;
    if (x.rank() != 2 && !(end && x.rank() == 1)) {
      reject(x, l, "multi_dot: operand", x.type(), "[m, n]; the first and last may be [n]");
      return x;
    }
    if (x.rank() == 2)
      xs.push_back(x);
    else
      xs.push_back(expand_dims(x, k == 0 ? 0 : 1, l));
    extents.push_back(xs.back().extent(0));
  }
  extents.push_back(xs.back().extent(1));
  array y = detail::chain_order(extents).product(xs, 0, n - 1, l);
  if (given[n - 1].rank() == 1) y = squeeze(y, 1, l);
  if (given[0].rank() == 1) y = squeeze(y, 0, l);
  return y;
}

/// x_i y_j: each element of one vector times each of the other.
///
/// shapes  x [m], y [n] -> [m, n]
/// errors  "outer: operand"
/// source  jax.numpy.linalg.outer
constexpr array outer(const array& x, const array& y, source_line l = source_line::current()) {
  for (const array* v : {&x, &y})
    if (v->rank() != 1) {
      reject(x.trace() ? x.trace() : y.trace(), l, "outer: operand", v->type(), "a vector");
      return *v;
    }
  return expand_dims(x, 1, l) * expand_dims(y, 0, l);
}

/// The sum of x y along an axis, after broadcasting.
///
/// shapes  x, y [..., n, ...] -> [...]
/// errors  "vecdot: axis", and those of *
/// source  jax.numpy.linalg.vecdot
constexpr array vecdot(const array& x, const array& y, int axis = -1, source_line l = source_line::current()) {
  const array both = x * located(y, l);
  return reduce_sum(both, {checked_axis("vecdot: axis", axis, both, l)}, l);
}

/// The vector product of vectors of three elements, along an axis.
///
/// shapes  x, y [..., 3, ...] -> [..., 3, ...], after broadcasting
/// errors  "cross: axis", "cross: extent"
/// source  jax.numpy.linalg.cross
constexpr array cross(const array& x, const array& y, int axis = -1, source_line l = source_line::current()) {
  arrays parts[2];
  const array* const given[2] = {&x, &y};
  int along = 0;
  for (int k = 0; k < 2; ++k) {
    along = checked_axis("cross: axis", axis, *given[k], l);
    if (given[k]->rank() == 0 || given[k]->extent(along) != 3) {
      reject(x.trace() ? x.trace() : y.trace(), l, "cross: extent", given[k]->type(),
             message("3 elements along axis ") << axis);
      return x;
    }
    for (int i = 0; i < 3; ++i) parts[k].push_back(slice_in_dim(*given[k], i, i + 1, along, l));
  }
  arrays out;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    out.push_back(parts[0][j] * parts[1][k] - parts[0][k] * parts[1][j]);
  }
  return concatenate(out, out[0].rank() - (y.rank() - along), l);
}

/// The elements a[i, i + offset] of matrices.
///
/// shapes  a [..., m, n] -> [..., k], as many as there are
/// errors  "diagonal: matrix"
/// source  jax.numpy.linalg.diagonal
constexpr array diagonal(const array& a, std::int64_t offset = 0, source_line l = source_line::current()) {
  if (!detail::is_matrix("diagonal: matrix", a, false, l)) return a;
  const std::int64_t m = detail::rows(a), n = detail::columns(a);
  const std::int64_t down = offset < 0 ? detail::lesser(-offset, m) : 0;
  const std::int64_t right = offset > 0 ? detail::lesser(offset, n) : 0;
  const array rest = slice_in_dim(slice_in_dim(a, down, m, -2, l), right, n, -1, l);
  return detail::diagonal_of(rest);
}
/// The sum of the elements a[i, i + offset].
///
/// shapes  a [..., m, n] -> [...]
/// errors  "diagonal: matrix"
/// source  jax.numpy.linalg.trace
constexpr array trace(const array& a, std::int64_t offset = 0, source_line l = source_line::current()) {
  const array d = diagonal(a, offset, l);
  return sum(d, {.axis = {-1}}, l);
}

}  // namespace tokamax::linalg
