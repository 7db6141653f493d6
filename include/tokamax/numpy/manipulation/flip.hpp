// tokamax/numpy/manipulation/flip.hpp: elements in another order: flip, rot90, roll.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/manipulation.cpp
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>   // concatenate
#include <tokamax/lax/shapes/reverse.hpp>       // reverse
#include <tokamax/numpy/floor_divide.hpp>       // remainder
#include <tokamax/numpy/manipulation/axes.hpp>  // checked_axes, ravel
#include <tokamax/numpy/take.hpp>               // take

namespace tokamax {

/// x in reverse order along some axes, by default all.
///
/// shapes  any -> the same
/// errors  "flip: axis"; "fliplr: operand" of fewer than two axes, "flipud: operand" of none
/// source  jax.numpy.flip, fliplr, flipud
constexpr array flip(const array& x, const axes& axis, source_line l = source_line::current()) {
  return reverse(x, detail::checked_axes("flip: axis", axis, x, l), l);
}
constexpr array flip(const array& x, source_line l = source_line::current()) {
  return reverse(x, iota_axes(x.rank()), l);
}
constexpr array fliplr(const array& x, source_line l = source_line::current()) {
  if (x.rank() >= 2) return reverse(x, {1}, l);
  reject(x, l, "fliplr: operand", x.type(), "two axes or more");
  return x;
}
constexpr array flipud(const array& x, source_line l = source_line::current()) {
  if (x.rank() >= 1) return reverse(x, {0}, l);
  reject(x, l, "flipud: operand", x.type(), "an axis");
  return x;
}

/// x turned by k quarters, from the first axis of `plane` toward the second.
///
/// errors  "rot90: plane" unless it is two different axes of x
/// source  jax.numpy.rot90
constexpr array rot90(const array& x, int k = 1, const axes& plane = {0, 1}, source_line l = source_line::current()) {
  const axes p = detail::checked_axes("rot90: plane", plane, x, l);
  if (p.rank() != 2 || p[0] == p[1]) {
    reject(x, l, "rot90: plane", message() << plane, "two different axes");
    return x;
  }
  const int a = static_cast<int>(p[0]), b = static_cast<int>(p[1]);
  k = (k % 4 + 4) % 4;
  if (k == 0) return x;
  if (k == 2) return reverse(x, {a, b}, l);
  if (k == 1) return swapaxes(reverse(x, {b}, l), a, b, l);
  return reverse(swapaxes(x, a, b, l), {b}, l);
}

/// Elements moved along axes; those that leave at one end come back at the other.
///
///   y[..., i, ...] = x[..., (i - shift) mod n, ...]
///
/// shapes  any -> the same; one shift an axis, or one for all
/// errors  "roll: axis", "roll: shifts" if there are not as many as axes
/// source  jax.numpy.roll
constexpr array roll(const array& x, const shape& shift, const axes& axis, source_line l = source_line::current()) {
  const int count = axis.rank() == 1 ? shift.rank() : axis.rank();
  if (shift.rank() != count && shift.rank() != 1) {
    reject(x, l, "roll: shifts", message() << shift, message("one for each of ") << axis);
    return x;
  }
  array y = x;
  for (int k = 0; k < count; ++k) {
    const int a = checked_axis("roll: axis", axis[axis.rank() == 1 ? 0 : k], x, l);
    const std::int64_t n = x.rank() == 0 ? 0 : x.extent(a), by = shift[shift.rank() == 1 ? 0 : k];
    if (n == 0) continue;
    const std::int64_t first = ((-by) % n + n) % n;  // the element that comes first
    if (first != 0) y = concatenate({slice_in_dim(y, first, n, a), slice_in_dim(y, 0, first, a)}, a, l);
  }
  return y;
}
constexpr array roll(const array& x, std::int64_t shift, int axis, source_line l = source_line::current()) {
  return roll(x, shape{shift}, axes{axis}, l);
}
/// The same of all elements in row-major order.
constexpr array roll(const array& x, std::int64_t shift, source_line l = source_line::current()) {
  return reshape(roll(ravel(x), shape{shift}, axes{0}, l), x.shape(), l);
}
/// The same by a shift that is a value of the program, a scalar.
/// errors  "roll: shift" for one that is not a scalar integer
constexpr array roll(const array& x, const array& shift, const axes& axis, source_line l = source_line::current()) {
  if (shift.rank() != 0 || !is_integer(shift.dtype())) {
    reject(x, l, "roll: shift", shift.type(), "a scalar integer");
    return x;
  }
  array y = x;
  for (std::int64_t given : axis) {
    const int a = checked_axis("roll: axis", given, x, l);
    if (x.rank() == 0 || x.extent(a) == 0) continue;
    const array n(x.extent(a), {i32, false, {}});
    array by = shift;
    if (bits_of(shift.dtype()) < 32) by = astype(shift, i32);
    by = astype(remainder(by, array(x.extent(a), {by.dtype(), false, {}})), i32);
    y = take(y, remainder(iota(i32, {x.extent(a)}, 0) - by, n), a, l);
  }
  return y;
}

}  // namespace tokamax
