// tokamax/numpy/signal/contractions.hpp: products of vectors and matrices: dot, inner, outer, kron, cross, tensordot, vecdot.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (signals need it)
// tested by tests/numpy/signal.cpp
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>        // stack
#include <tokamax/numpy/elementwise/arithmetic.hpp>  // multiply
#include <tokamax/numpy/manipulation/axes.hpp>       // moveaxis, ravel
#include <tokamax/numpy/matmul.hpp>                  // matmul

namespace tokamax {

/// The sum of products over the last axis of x and the last but one of y (the only one of a vector); of a scalar, x y.
///
/// shapes  [..., n] with [..., n, m] -> [..., ..., m]
/// errors  "matmul: inner extents"
/// source  jax.numpy.dot
constexpr array dot(const array& x, const array& y, source_line l = source_line::current()) {
  if (x.rank() == 0 || y.rank() == 0) return x * located(y, l);
  return dot_general(x, y, {.lhs_contracting = {x.rank() - 1}, .rhs_contracting = {y.rank() == 1 ? 0 : y.rank() - 2}},
                     l);
}
/// The sum of products of all elements.
/// errors  "matmul: inner extents"
/// source  jax.numpy.vdot
constexpr array vdot(const array& x, const array& y, source_line l = source_line::current()) {
  return dot(ravel(x, l), ravel(y, l), l);
}
/// The sum of products over the last axes of both.
/// source  jax.numpy.inner
constexpr array inner(const array& x, const array& y, source_line l = source_line::current()) {
  if (x.rank() == 0 || y.rank() == 0) return x * located(y, l);
  return dot_general(x, y, {.lhs_contracting = {x.rank() - 1}, .rhs_contracting = {y.rank() - 1}}, l);
}
/// All products of an element of x and one of y: [m, n].
/// source  jax.numpy.outer
constexpr array outer(const array& x, const array& y, source_line l = source_line::current()) {
  return multiply(expand_dims(ravel(x, l), 1), expand_dims(ravel(y, l), 0), l);
}

/// The sum of products over some axes of x and as many of y, whose other axes follow each other.
///
/// errors  "dot_general: axes", "matmul: inner extents"; "tensordot: axes" for a number that one of them does not have
/// source  jax.numpy.tensordot
constexpr array tensordot(const array& x, const array& y, const axes& of_x, const axes& of_y,
                          source_line l = source_line::current()) {
  return dot_general(x, y,
                     {.lhs_contracting = detail::checked_axes("tensordot: axes", of_x, x, l),
                      .rhs_contracting = detail::checked_axes("tensordot: axes", of_y, y, l)},
                     l);
}
/// The same over the last n axes of x and the first n of y.
constexpr array tensordot(const array& x, const array& y, int n = 2, source_line l = source_line::current()) {
  if (n < 0 || n > x.rank() || n > y.rank()) {
    reject(x, l, "tensordot: axes", message() << n, message("at most those of ") << x.type() << ", " << y.type());
    return x;
  }
  return dot_general(
      x, y, {.lhs_contracting = detail::range_axes(x.rank() - n, n), .rhs_contracting = detail::range_axes(0, n)}, l);
}

/// The sum of products along one axis, with broadcasting over the others.
///
/// errors  "vecdot: axis", "vecdot: extents", "broadcast_to: shape"
/// source  jax.numpy.vecdot
constexpr array vecdot(const array& x, const array& y, int axis = -1, source_line l = source_line::current()) {
  const array a = moveaxis(x, checked_axis("vecdot: axis", axis, x, l), -1),
              b = moveaxis(y, checked_axis("vecdot: axis", axis, y, l), -1);
  if (a.extent(-1) != b.extent(-1)) {
    reject(x, l, "vecdot: extents", y.type(), message("the axis of ") << x.type());
    return x;
  }
  return squeeze(matmul(expand_dims(a, -2), expand_dims(b, -1), {}, l), axes{-1, -2}, l);
}
/// Matrices times vectors, [..., m, n] [..., n] -> [..., m], and vectors times matrices.
/// errors  those of matmul
/// source  jax.numpy.matvec, vecmat
constexpr array matvec(const array& x, const array& v, source_line l = source_line::current()) {
  return squeeze(matmul(x, expand_dims(v, -1), {}, l), -1, l);
}
constexpr array vecmat(const array& v, const array& x, source_line l = source_line::current()) {
  return squeeze(matmul(expand_dims(v, -2), x, {}, l), -2, l);
}

/// The Kronecker product: each element of x times all of y, as a block.
///
/// shapes  [m, n] with [p, q] -> [m p, n q], and so for any axes; missing ones have extent 1
/// source  jax.numpy.kron
constexpr array kron(const array& x, const array& y, source_line l = source_line::current()) {
  const int rank = x.rank() > y.rank() ? x.rank() : y.rank();
  shape sx, sy, s;
  for (int i = 0; i < rank; ++i) {
    const int a = i - rank + x.rank(), b = i - rank + y.rank();
    const std::int64_t m = a < 0 ? 1 : x.extent(a), n = b < 0 ? 1 : y.extent(b);
    sx.push_back(m), sx.push_back(1);
    sy.push_back(1), sy.push_back(n);
    s.push_back(mul_extent(m, n));
  }
  return reshape(multiply(reshape(x, sx, l), reshape(y, sy, l), l), s, l);
}

/// The cross product along one axis of extent 3, or of extent 2 for vectors in a plane, whose product is one number if
/// both are so.
///
/// errors  "cross: axis", "cross: extents" other than 2 and 3
/// source  jax.numpy.cross
constexpr array cross(const array& x, const array& y, int axis = -1, source_line l = source_line::current()) {
  const array a = moveaxis(x, checked_axis("cross: axis", axis, x, l), -1),
              b = moveaxis(y, checked_axis("cross: axis", axis, y, l), -1);
  const std::int64_t m = a.rank() ? a.extent(-1) : 0, n = b.rank() ? b.extent(-1) : 0;
  if ((m != 2 && m != 3) || (n != 2 && n != 3)) {
    reject(x, l, "cross: extents", message() << m << ", " << n, "2 or 3");
    return x;
  }
  const auto part = [&](const array& v, int i) {
    if (i < v.extent(-1)) return squeeze(slice_in_dim(v, i, i + 1, -1), -1);
    return zeros_like(squeeze(slice_in_dim(v, 0, 1, -1), -1));
  };
  const auto minor_of = [&](int i, int j) { return part(a, i) * part(b, j) - part(a, j) * part(b, i); };
  if (m == 2 && n == 2) return minor_of(0, 1);
  return moveaxis(stack({minor_of(1, 2), minor_of(2, 0), minor_of(0, 1)}, -1, l), -1, axis, l);
}

}  // namespace tokamax
