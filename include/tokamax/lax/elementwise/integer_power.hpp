// tokamax/lax/elementwise/integer_power.hpp: powers of integers, which keep their low bits.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/elementwise.cpp
#pragma once

#include <tokamax/lax/elementwise/bitwise.hpp>  // bits of exponents

namespace tokamax {

namespace detail {
/// x^y of integers, by the squares x^(2^k) for the bits k of y.
constexpr array integer_power(array x, const array& y) {
  const auto number = [type = x.dtype()](std::int64_t v) { return array(v, {type, false, {}}); };
  const bool known = y.is_literal() && y.literal() >= 0 && y.literal() < 0x1p31;
  const std::int64_t exponent = known ? static_cast<std::int64_t>(y.literal()) : -1;
  const array base = x;
  array result(1, {x.dtype(), false, y.is_literal() ? x.shape() : y.shape()});
  for (int k = 0; k < bits_of(x.dtype()) - is_signed(x.dtype()); ++k) {
    if (known && exponent >> k == 0) break;
    if (k > 0) x = x * x;
    const std::int64_t bit = std::int64_t{1} << k;  // of u64 the highest one is negative, with the same bits
    if (!known)
      result = select(bitwise_and(y, number(bit)) != number(0), result * x, result);
    else if (exponent & bit)
      result = result * x;
  }
  if (known || !is_signed(y.dtype())) return result;
  const array whole = logical_or(base == number(1), base == number(-1));  // its inverse is an integer
  return select(logical_or(y >= number(0), whole), result, number(0));
}
}  // namespace detail

}  // namespace tokamax
