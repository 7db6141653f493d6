// tokamax/numpy/manipulation/axes.hpp: the order and number of axes: moveaxis, squeeze, ravel, atleast_2d, broadcast_arrays.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/manipulation.cpp
#pragma once

#include <tokamax/core/arrays_of.hpp>               // arrays_of
#include <tokamax/lax/elementwise/elementwise.hpp>  // broadcast_to
#include <tokamax/lax/shapes/transpose.hpp>         // transpose

namespace tokamax {

namespace detail {
/// Axes counted from the front, each once, of an array with `more` axes beside those of x.
/// errors  `what` for an axis that there is not, or twice
constexpr axes checked_axes(const char* what, const axes& given, const array& x, location l, int more = 0) {
  axes out;
  for (std::int64_t a : given) {
    const int axis = checked_axis(what, a, x, l, more);
    if (out.contains(axis)) reject(x, l, what, message() << given, "each axis once");
    out.push_back(axis);
  }
  return out;
}
}  // namespace detail

/// Axis from[i] of x becomes axis to[i]; the other axes keep their order.
///
/// errors  "moveaxis: axis", "moveaxis: axes" if there are not as many of both
/// source  jax.numpy.moveaxis
constexpr array moveaxis(const array& x, const axes& from, const axes& to, source_line l = source_line::current()) {
  const axes a = detail::checked_axes("moveaxis: axis", from, x, l),
             b = detail::checked_axes("moveaxis: axis", to, x, l);
  if (a.rank() != b.rank()) {
    reject(x, l, "moveaxis: axes", message() << to, message("as many as ") << from);
    return x;
  }
  axes order = other_axes(x.rank(), a);
  axes p;
  for (int i = 0, next = 0; i < x.rank(); ++i) {
    std::int64_t axis = -1;
    for (int k = 0; k < b.rank(); ++k)
      if (b[k] == i) axis = a[k];
    p.push_back(axis >= 0 ? axis : order[next++]);
  }
  return transpose(x, p, l);
}
constexpr array moveaxis(const array& x, int from, int to, source_line l = source_line::current()) {
  return moveaxis(x, axes{from}, axes{to}, l);
}
/// Axis `axis` moved in front of axis `start`.
/// errors  "rollaxis: axis", "rollaxis: start"
/// source  jax.numpy.rollaxis
constexpr array rollaxis(const array& x, int axis, int start = 0, source_line l = source_line::current()) {
  axis = checked_axis("rollaxis: axis", axis, x, l);
  if (start < -x.rank() || start > x.rank()) {
    reject(x, l, "rollaxis: start", message() << start, message("a place among the axes of ") << x.type());
    return x;
  }
  if (start < 0) start += x.rank();
  return moveaxis(x, axis, start > axis ? start - 1 : start, l);
}
/// The axes of x in the order `permutation`, of which negative ones count from the end.
/// errors  "permute_dims: axis"
/// source  jax.numpy.permute_dims
constexpr array permute_dims(const array& x, const axes& permutation, source_line l = source_line::current()) {
  return transpose(x, detail::checked_axes("permute_dims: axis", permutation, x, l), l);
}
/// The last two axes exchanged.
/// errors  "matrix_transpose: operand" of fewer than two axes
/// source  jax.numpy.matrix_transpose
constexpr array matrix_transpose(const array& x, source_line l = source_line::current()) {
  if (x.rank() >= 2) return swapaxes(x, -2, -1, l);
  reject(x, l, "matrix_transpose: operand", x.type(), "two axes or more");
  return x;
}

/// x with extents of 1 inserted, which are the axes `axis` of the result.
/// errors  "expand_dims: axis"
/// source  jax.numpy.expand_dims
constexpr array expand_dims(const array& x, const axes& axis, source_line l = source_line::current()) {
  const axes at = detail::checked_axes("expand_dims: axis", axis, x, l, axis.rank());
  shape s;
  for (int i = 0, next = 0; i < x.rank() + at.rank(); ++i) s.push_back(at.contains(i) ? 1 : x.extent(next++));
  return reshape(x, s, l);
}
/// x without the axes `axis`, whose extents must be 1.
/// errors  "squeeze: axis", "reshape: number of elements"
/// source  jax.numpy.squeeze
constexpr array squeeze(const array& x, const axes& axis, source_line l = source_line::current()) {
  const axes at = detail::checked_axes("squeeze: axis", axis, x, l);
  shape s;
  for (int i = 0; i < x.rank(); ++i) {
    if (at.contains(i) && x.extent(i) != 1)
      reject(x, l, "squeeze: axis", x.type(), message("1 element along axis ") << i);
    if (!at.contains(i)) s.push_back(x.extent(i));
  }
  return reshape(x, s, l);
}
/// x without its axes of extent 1.
constexpr array squeeze(const array& x, source_line l = source_line::current()) {
  axes ones;
  for (int i = 0; i < x.rank(); ++i)
    if (x.extent(i) == 1) ones.push_back(i);
  return squeeze(x, ones, l);
}

/// All elements along one axis, in row-major order.
/// source  jax.numpy.ravel
constexpr array ravel(const array& x, source_line l = source_line::current()) { return reshape(x, {x.size()}, l); }

/// x with at least one, two or three axes. One axis becomes the last of two and the middle of three.
///
/// shapes  [n] -> [1, n], [1, n, 1]; [m, n] -> [m, n, 1]
/// source  jax.numpy.atleast_1d, atleast_2d, atleast_3d
constexpr array atleast_1d(const array& x, source_line l = source_line::current()) {
  if (x.rank() > 0) return x;
  return reshape(x, {1}, l);
}
constexpr array atleast_2d(const array& x, source_line l = source_line::current()) {
  if (x.rank() > 1) return x;
  return reshape(x, {1, x.size()}, l);
}
constexpr array atleast_3d(const array& x, source_line l = source_line::current()) {
  if (x.rank() > 2) return x;
  if (x.rank() < 2) return reshape(x, {1, x.size(), 1}, l);
  return reshape(x, {x.extent(0), x.extent(1), 1}, l);
}

/// All arrays with the shape that they broadcast to together.
/// errors  "broadcast_to: shape"
/// source  jax.numpy.broadcast_arrays
constexpr arrays broadcast_arrays(const arrays& xs, source_line l = source_line::current()) {
  shape s;
  bool ok = true;
  for (const array& x : xs) s = broadcast_shapes(s, x.shape(), ok);
  arrays out;
  for (const array& x : xs) out.push_back(broadcast_to(x, s, l));
  return out;
}
template <std::size_t Count>
constexpr arrays_of<Count> broadcast_arrays(const array (&xs)[Count], source_line l = source_line::current()) {
  return broadcast_arrays(arrays(xs, Count), l);
}

}  // namespace tokamax
