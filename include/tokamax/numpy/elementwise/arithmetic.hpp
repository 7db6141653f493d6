// tokamax/numpy/elementwise/arithmetic.hpp: NumPy's arithmetic of two arrays: fmax, fmod, divmod, gcd, heaviside, rounding.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/elementwise.cpp
#pragma once

#include <tokamax/core/arrays_of.hpp>                // arrays_of
#include <tokamax/numpy/elementwise/predicates.hpp>  // isnan
#include <tokamax/numpy/floor_divide.hpp>            // floor_divide, remainder

namespace tokamax {

/// The functions behind the operators, by their names in NumPy: x + y, x - y, x * y, x / y, -x, +x.
///
/// shapes  x, y broadcast together
/// dtypes  numbers, promoted
/// errors  "add: shapes" and "add: dtype" (and so on)
/// source  jax.numpy
constexpr array add(const array& x, const array& y, source_line l = source_line::current()) {
  if (x.dtype() == bool_ && y.dtype() == bool_) return logical_or(x, y, l);
  return x + located(y, l);
}
constexpr array subtract(const array& x, const array& y, source_line l = source_line::current()) {
  return x - located(y, l);
}
constexpr array multiply(const array& x, const array& y, source_line l = source_line::current()) {
  if (x.dtype() == bool_ && y.dtype() == bool_) return logical_and(x, y, l);
  return x * located(y, l);
}
constexpr array divide(const array& x, const array& y, source_line l = source_line::current()) {
  return x / located(y, l);
}
constexpr array true_divide(const array& x, const array& y, source_line l = source_line::current()) {
  return divide(x, y, l);
}
constexpr array negative(const array& x, source_line l = source_line::current()) { return -located(x, l); }
constexpr array positive(const array& x) { return x; }
/// 1 / x; integers become f32.
constexpr array reciprocal(const array& x, source_line l = source_line::current()) {
  return detail::number_like(detail::in_floats(x), 1) / located(detail::in_floats(x), l);
}

/// The larger (smaller) of two numbers, where NaN counts as missing.
///
/// shapes  x, y broadcast together
/// dtypes  their promotion
/// source  jax.numpy.fmax, fmin
constexpr array fmax(const array& x, const array& y, source_line l = source_line::current()) {
  const auto [a, b] = detail::operand_pair(described<max_p>(), x, y, l, true);
  if (!is_floating(a.dtype())) return maximum(a, b, l);
  return select(logical_or(a > b, isnan(b)), a, b);
}
constexpr array fmin(const array& x, const array& y, source_line l = source_line::current()) {
  const auto [a, b] = detail::operand_pair(described<min_p>(), x, y, l, true);
  if (!is_floating(a.dtype())) return minimum(a, b, l);
  return select(logical_or(a < b, isnan(b)), a, b);
}

/// The remainder of division toward zero, which has the sign of x; of an integer by zero it is 0.
/// source  jax.numpy.fmod
constexpr array fmod(const array& x, const array& y, source_line l = source_line::current()) {
  const auto [a, b, zero] = detail::dividends(described<rem_p>(), x, y, l);
  const bool truth = x.dtype() == bool_ && y.dtype() == bool_;  // the remainder of 1 by 0 is 1
  if (is_floating(a.dtype()) || truth) return rem(a, b, l);
  return rem(a, select(b == zero, array(1.0, b.type()), b), l);
}
/// {floor_divide(x, y), remainder(x, y)}.
/// source  jax.numpy.divmod
constexpr arrays_of<2> divmod(const array& x, const array& y, source_line l = source_line::current()) {
  return {floor_divide(x, y, l), remainder(x, y, l)};
}

/// 0 where x is negative, 1 where it is positive, y where it is 0, NaN where it is NaN.
/// source  jax.numpy.heaviside
constexpr array heaviside(const array& x, const array& y, source_line l = source_line::current()) {
  const auto [a, b] = detail::operand_pair(described<max_p>(), x, y, l);
  const array at_zero = select(a == 0.0, b, a);  // NaN stays
  return select(a < 0.0, zeros_like(a), select(a > 0.0, ones_like(a), at_zero));
}

/// The greatest common divisor, which is not negative (but for the lowest number of a dtype); gcd(0, 0) is 0.
///
/// Euclid's algorithm with as many steps as the Fibonacci numbers of the dtype need, all in one fused loop.
///
/// shapes  x, y broadcast together
/// dtypes  integers, promoted
/// errors  "gcd: dtype" for others
/// source  jax.numpy.gcd
constexpr array gcd(const array& x, const array& y, source_line l = source_line::current()) {
  auto [a, b] = detail::operand_pair(described<max_p>(), x, y, l, true);
  if (!is_integer(a.dtype())) {
    reject(a, l, "gcd: dtype", a.type(), "an integer dtype");
    return a;
  }
  if (is_signed(a.dtype())) a = abs(a, l), b = abs(b, l);
  const array zero = detail::number_like(a, 0), one = detail::number_like(a, 1);
  const int steps = 3 * bits_of(a.dtype()) / 2 - 1;
  for (int k = 0; k < steps; ++k) {  // (a, b) -> (b, a mod b) until b is 0
    const array done = b == zero, rest = rem(a, select(done, one, b));
    a = select(done, a, b);
    b = select(done, b, rest);
  }
  return a;
}
/// The least common multiple, |x y| / gcd(x, y); 0 if one of them is 0.
/// errors  "gcd: dtype"
/// source  jax.numpy.lcm
constexpr array lcm(const array& x, const array& y, source_line l = source_line::current()) {
  const auto [a, b] = detail::operand_pair(described<max_p>(), x, y, l, true);
  const array d = gcd(a, b, l), zero = detail::number_like(a, 0);
  if (!is_integer(a.dtype())) return a;
  const array parts = quotient(abs(b), select(d == zero, detail::number_like(a, 1), d));
  return select(d == zero, zero, abs(a) * parts);
}

/// x rounded to a number of decimals, halves to the even neighbour; negative numbers of decimals round to tens.
///
/// dtypes  floats; integers stay as they are unless decimals are negative
/// errors  "around: dtype" of truth values, "around: decimals"
/// source  jax.numpy.round, around
constexpr array around(const array& x, int decimals = 0, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) {
    if (x.dtype() == bool_) reject(x, l, "around: dtype", x.type(), "numbers");
    if (decimals >= 0) return x;
    reject(x, l, "around: decimals", message() << decimals, "0 or more for integers");
    return x;
  }
  if (decimals == 0) return round(x, l);
  double factor = 1;
  for (int k = 0; k < (decimals < 0 ? -decimals : decimals); ++k) factor *= 10;
  const array wide = astype(x, carrying(x.dtype()), l), f = detail::number_like(wide, factor);
  array y;
  if (decimals > 0)
    y = round(wide * f) / f;
  else
    y = round(wide / f) * f;
  return astype(y, x.dtype());
}
/// The nearest integer as a float, halves to the even one.
/// source  jax.numpy.rint
constexpr array rint(const array& x, source_line l = source_line::current()) { return round(detail::in_floats(x), l); }

}  // namespace tokamax
