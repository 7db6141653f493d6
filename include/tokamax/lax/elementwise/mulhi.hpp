// tokamax/lax/elementwise/mulhi.hpp: the high half of the product of integers.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (few programs need more than the low half)
// tested by tests/lax/windows/patches.cpp
#pragma once

#include <tokamax/lax/elementwise/bitwise.hpp>  // bitwise_and

namespace tokamax {

namespace detail {
/// The high 64 bits of a product, from the four products of halves of 32 bits. A negative factor counts as 2^64 more, so the
/// other factor is taken away once from the high half.
constexpr array high_of_64(const array& a, const array& b, source_line l) {
  const array x = astype(a, u64, l), y = astype(b, u64, l), half(32, {u64, false, {}}),
              low(0xffffffffLL, {u64, false, {}});
  const array x0 = bitwise_and(x, low), x1 = shift_right_logical(x, half);
  const array y0 = bitwise_and(y, low), y1 = shift_right_logical(y, half);
  const array first = x1 * y0 + shift_right_logical(x0 * y0, half);
  const array second = x0 * y1 + bitwise_and(first, low);
  const array high = x1 * y1 + shift_right_logical(first, half) + shift_right_logical(second, half);
  if (a.dtype() == u64) return high;
  const array zero(0, {i64, false, {}}), zero_word(0, {u64, false, {}});
  return astype(high - select(a < zero, y, zero_word) - select(b < zero, x, zero_word), i64, l);
}
}  // namespace detail

/// The upper n bits of the product of two integers of n bits, which has 2 n.
///
/// shapes  broadcast together
/// dtypes  their promotion, an integer dtype of 8 bits or more
/// errors  "mulhi: shapes", "mulhi: dtype"
/// source  jax.lax.mulhi
constexpr array mulhi(const array& a, const array& b, source_line l = source_line::current()) {
  array x[2] = {a, b};
  detail::unify(described<mul_p>(), x, l);
  const dtype type = x[0].dtype();
  if (!is_integer(type) || bits_of(type) < 8) {
    reject(x, 2, l, "mulhi: dtype", x[0].type(), "an integer dtype of 8 bits or more");
    return x[0];
  }
  if (bits_of(type) == 64) return detail::high_of_64(x[0], x[1], l);
  const dtype wide = is_signed(type) ? i64 : u64;
  const array product = astype(x[0], wide, l) * astype(x[1], wide, l), by(bits_of(type), {wide, false, {}});
  return astype(is_signed(type) ? shift_right_arithmetic(product, by) : shift_right_logical(product, by), type, l);
}

}  // namespace tokamax
