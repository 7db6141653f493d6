// tokamax/numpy/floor_divide.hpp: quotients and remainders of flooring division.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/elementwise/division.cpp
#pragma once

#include <tokamax/lax/elementwise/division.hpp>  // quotient, rem

namespace tokamax {

namespace detail {
/// Both operands with their common dtype and shape; truth values become i32. Signs are compared after this promotion.
struct dividends {
  array a, b, zero;
  constexpr dividends(const op& o, const array& left, const array& right, source_line l) {
    array x[2] = {left, right};
    unify(o, x, l);
    for (array& v : x)
      if (v.dtype() == bool_) v = convert_element_type(v, i32, false, l);
    a = x[0], b = x[1];
    zero = array(0.0, {a.dtype(), true, {}});
  }
};
}  // namespace detail

/// The remainder of flooring division: it has the sign of b, also where it is 0, which in JAX has that of a. The remainder
/// of an integer by zero is 0.
/// dtypes  integers stay integers, bool becomes i32
/// source  jax.numpy.remainder
constexpr array remainder(const array& dividend, const array& divisor, source_line l = source_line::current()) {
  auto [a, b, zero] = detail::dividends(described<rem_p>(), dividend, divisor, l);
  if (is_integer(b.dtype())) b = select(b == zero, array(1.0, b.type()), b, l);
  const array r = rem(a, b, l);
  const array y = select(logical_and((r < zero) != (b < zero), r != zero), r + b, r, l);
  if (is_integer(y.dtype())) return y;
  return select(r == zero, select(b < zero, array(-0.0, b.type()), array(0.0, b.type())), y, l);
}

/// The same, as C++ writes it.
constexpr array operator%(const array& a, const located& b) { return remainder(a, b.value, b.where); }
template <std::derived_from<array> A>
constexpr A& operator%=(A& a, const located& b) {
  return a = a % b;
}

/// floor(a / b); a quotient of 0 has the sign of a / b, as in NumPy. An integer divided by zero gives -1; for signed dtypes it gives -2 unless a is 0, as in JAX.
/// dtypes  integers stay integers, bool becomes i32
/// source  jax.numpy.floor_divide
constexpr array floor_divide(const array& dividend, const array& divisor, source_line l = source_line::current()) {
  const auto [a, b, zero] = detail::dividends(described<rem_p>(), dividend, divisor, l);
  if (is_unsigned(a.dtype())) return quotient(a, b, l);
  const array r = rem(a, b, l), one(1.0, {r.dtype(), true, {}});
  if (is_integer(r.dtype())) {
    const array q = quotient(a, b, l);
    return select(logical_and(sign(a, l) != sign(b, l), r != zero), q - one, q, l);
  }
  const array q = (a - r) / b;
  const array nearest = round(select(logical_and(r != zero, (b < zero) != (r < zero)), q - one, q, l), l);
  return select(b == zero, a / b, select(nearest == zero, a / b * zero, nearest), l);
}

}  // namespace tokamax
