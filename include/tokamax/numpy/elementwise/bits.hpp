// tokamax/numpy/elementwise/bits.hpp: NumPy's names for logic and bits, and truth values packed into bytes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/elementwise.cpp
#pragma once

#include <tokamax/lax/elementwise/bitwise.hpp>  // shift_left_p, shift_right_arithmetic_p, bitwise_and
#include <tokamax/lax/reduce.hpp>               // sum
#include <tokamax/lax/shapes/concatenate.hpp>   // pad
#include <tokamax/lax/shapes/transpose.hpp>     // swapaxes
#include <tokamax/numpy/floor_divide.hpp>       // dividends

namespace tokamax {

/// Is exactly one of two values not zero?
/// source  jax.numpy.logical_xor
constexpr array logical_xor(const array& x, const array& y, source_line l = source_line::current()) {
  return not_equal(astype(x, bool_), astype(y, bool_), l);
}
/// source  jax.numpy.bitwise_invert, bitwise_count
constexpr array bitwise_invert(const array& x, source_line l = source_line::current()) { return bitwise_not(x, l); }
/// The number of ones among the bits of |x|, as u8.
/// errors  "bitwise_count: dtype"
constexpr array bitwise_count(const array& x, source_line l = source_line::current()) {
  if (is_floating(x.dtype())) reject(x, l, "bitwise_count: dtype", x.type(), "an integer dtype");
  array magnitude = x;
  if (x.dtype() == bool_) return astype(x, u8, l);
  if (is_signed(x.dtype())) magnitude = abs(x, l);
  return astype(population_count(magnitude, l), u8);
}
/// x with its bits moved by y; a shift to the right copies the sign of signed dtypes.
///
/// shapes  x, y broadcast together
/// dtypes  integers, promoted; bool becomes i32
/// errors  "shift_left: dtype" and "shift_right_arithmetic: dtype" for floats
/// source  jax.numpy.bitwise_left_shift, left_shift, bitwise_right_shift, right_shift
constexpr array bitwise_left_shift(const array& x, const array& y, source_line l = source_line::current()) {
  const auto [a, b, zero] = detail::dividends(described<shift_left_p>(), x, y, l);
  return shift_left(a, b, l);
}
constexpr array bitwise_right_shift(const array& x, const array& y, source_line l = source_line::current()) {
  const auto [a, b, zero] = detail::dividends(described<shift_right_arithmetic_p>(), x, y, l);
  if (is_unsigned(a.dtype())) return shift_right_logical(a, b, l);
  return shift_right_arithmetic(a, b, l);
}
constexpr array left_shift(const array& x, const array& y, source_line l = source_line::current()) {
  return bitwise_left_shift(x, y, l);
}
constexpr array right_shift(const array& x, const array& y, source_line l = source_line::current()) {
  return bitwise_right_shift(x, y, l);
}

/// The same, as C++ writes them.
constexpr array operator<<(const array& x, const located& y) { return bitwise_left_shift(x, y.value, y.where); }
constexpr array operator>>(const array& x, const located& y) { return bitwise_right_shift(x, y.value, y.where); }
template <std::derived_from<array> A>
constexpr A& operator<<=(A& x, const located& y) {
  return x = x << y;
}
template <std::derived_from<array> A>
constexpr A& operator>>=(A& x, const located& y) {
  return x = x >> y;
}

/// Which end of a byte the first of eight bits is.
enum class bit_order : std::uint8_t { big, little };

/// Truth values along `axis` as bytes, eight in each; missing ones of the last byte count as 0.
///
/// shapes  extent n -> ceil(n / 8)
/// dtypes  integers and bool -> u8
/// errors  "packbits: axis"
/// source  jax.numpy.packbits
constexpr array packbits(const array& x, int axis = -1, bit_order order = bit_order::big,
                         source_line l = source_line::current()) {
  axis = checked_axis("packbits: axis", axis, x, l);
  if (x.rank() == 0) return x;
  const std::int64_t n = x.extent(axis), bytes = (n + 7) / 8;
  array bits = swapaxes(astype(astype(x, bool_, l), i32), axis, -1);  // [..., n]
  shape low, high, s = bits.shape();
  for (int i = 0; i < x.rank(); ++i) low.push_back(0), high.push_back(0);
  high[-1] = 8 * bytes - n;
  bits = pad(bits, 0, low, high);
  s[-1] = bytes;
  s.push_back(8);
  const array place = iota(i32, {8}, 0);
  array weight = place;
  if (order == bit_order::big) weight = 7 - place;
  const array packed = sum(shift_left(reshape(bits, s), broadcast_to(weight, s)), {{-1}});
  return swapaxes(astype(packed, u8), axis, -1);
}

/// The bits of bytes along `axis`, each as a byte of 0 or 1. `count` of them are kept, from the start; zeros follow
/// where there are fewer.
///
/// shapes  extent n -> 8 n, or count
/// dtypes  u8
/// errors  "unpackbits: dtype", "unpackbits: axis"
/// source  jax.numpy.unpackbits
constexpr array unpackbits(const array& x, int axis = -1, std::int64_t count = -1, bit_order order = bit_order::big,
                           source_line l = source_line::current()) {
  axis = checked_axis("unpackbits: axis", axis, x, l);
  if (x.rank() == 0) return x;
  if (x.dtype() != u8) reject(x, l, "unpackbits: dtype", x.type(), "u8");
  const std::int64_t all = 8 * x.extent(axis), kept = count < 0 ? all : count;
  const array bytes = swapaxes(astype(x, i32, l), axis, -1), place = iota(i32, {8}, 0);
  array by = place;
  if (order == bit_order::big) by = 7 - place;
  shape s = bytes.shape();
  s.push_back(8);
  const array bits = bitwise_and(shift_right_logical(broadcast_to(expand_dims(bytes, -1), s), broadcast_to(by, s)), 1);
  s = bytes.shape();
  s[-1] = all;
  shape none, high;
  for (int i = 0; i < x.rank(); ++i) none.push_back(0), high.push_back(0);
  high[-1] = kept - all;
  return swapaxes(astype(pad(reshape(bits, s), 0, none, high), u8), axis, -1);
}

}  // namespace tokamax
