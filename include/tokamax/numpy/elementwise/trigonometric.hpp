// tokamax/numpy/elementwise/trigonometric.hpp: NumPy's names of inverse functions, and unwrap.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/elementwise.cpp
#pragma once

#include <tokamax/lax/cumulative.hpp>                 // cumsum
#include <tokamax/lax/elementwise/hyperbolic.hpp>     // asinh, acosh, atanh
#include <tokamax/lax/elementwise/trigonometric.hpp>  // asin, acos, atan, atan2
#include <tokamax/lax/shapes/concatenate.hpp>         // concatenate
#include <tokamax/numpy/floor_divide.hpp>             // remainder
#include <tokamax/numpy/reductions/cumulative.hpp>    // diff

namespace tokamax {

/// The names that NumPy had for asin, acos, atan, atan2, asinh, acosh and atanh.
///
/// dtypes  any float; integers become f32
/// source  jax.numpy.arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh
constexpr array arcsin(const array& x, source_line l = source_line::current()) { return asin(x, l); }
constexpr array arccos(const array& x, source_line l = source_line::current()) { return acos(x, l); }
constexpr array arctan(const array& x, source_line l = source_line::current()) { return atan(x, l); }
constexpr array arctan2(const array& y, const array& x, source_line l = source_line::current()) {
  return atan2(y, x, l);
}
constexpr array arcsinh(const array& x, source_line l = source_line::current()) { return asinh(x, l); }
constexpr array arccosh(const array& x, source_line l = source_line::current()) { return acosh(x, l); }
constexpr array arctanh(const array& x, source_line l = source_line::current()) { return atanh(x, l); }

/// How unwrap finds jumps.
struct unwrap_options {
  int axis = -1;
  double period = 6.283185307179586;  ///< of the angles; with a whole number integers stay integers
  double discont = -1;                ///< differences below it are no jumps; negative: half of the period
};
/// Angles without jumps: where neighbours along an axis differ by more than half of the period, multiples of the period are
/// added to all that follow.
///
///   y[0] = p[0],  y[i] = p[i] + sum over k <= i of (((d[k] + period / 2) mod period) - period / 2 - d[k])
///
/// shapes  any -> the same
/// dtypes  floats; integers become f32, if the period is not a whole number
/// errors  "unwrap: axis"
/// source  jax.numpy.unwrap
constexpr array unwrap(const array& p, unwrap_options o = {}, source_line l = source_line::current()) {
  const int axis = checked_axis("unwrap: axis", o.axis, p, l);
  const auto period = static_cast<std::int64_t>(o.period);
  const bool integers = is_integer(p.dtype()) && static_cast<double>(period) == o.period;
  const array x = integers ? p : detail::in_floats(p);
  if (x.rank() == 0 || (is_dyn(x.extent(axis)) && !is_known("unwrap", x, l)) || x.extent(axis) < 2) return x;
  const auto number = [&](double v) { return detail::number_like(x, v); };
  const array half = number(integers ? static_cast<double>(period / 2) : o.period / 2);
  const array step = diff(x, 1, axis, l);
  array wrapped = remainder(step + half, number(o.period)) - half;
  wrapped = select(logical_and(wrapped == -half, step > 0), half, wrapped);
  const array limit(o.discont < 0 ? o.period / 2 : o.discont, {integers ? f32 : x.dtype(), false, {}});
  const array jumps = select(abs(step) < limit, zeros_like(step), wrapped - step);
  const std::int64_t n = x.extent(axis);
  return concatenate({slice_in_dim(x, 0, 1, axis), slice_in_dim(x, 1, n, axis) + cumsum(jumps, axis)}, axis, l);
}

}  // namespace tokamax
