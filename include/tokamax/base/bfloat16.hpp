// tokamax/base/bfloat16.hpp: the 16-bit float with float32's exponent range.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <bit>          // bit_cast
#include <concepts>     // same_as
#include <cstdint>      // uint16_t, uint32_t
#include <limits>       // numeric_limits
#include <type_traits>  // is_arithmetic_v

namespace tokamax {

/// The upper half of a float32: 1 sign, 8 exponent and 7 fraction bits.
///
/// It converts to float implicitly, which is exact. Conversion from float is explicit and rounds to nearest, ties to
/// even; a NaN stays a quiet NaN and keeps its sign. `bfloat16 op bfloat16` is computed in float and rounded once, and
/// `bfloat16 op float` is a float.
struct bfloat16 {
  std::uint16_t bits = 0;

  constexpr bfloat16() = default;
  constexpr explicit bfloat16(float value) : bits(narrow(value)) {}

  /// Other arithmetic types are first converted to float, so a double is rounded twice, as in JAX.
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, float>)
  constexpr explicit bfloat16(T value) : bfloat16(static_cast<float>(value)) {}

  static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 result;
    result.bits = bits;
    return result;
  }

  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

  friend constexpr bfloat16 operator-(bfloat16 x) { return from_bits(x.bits ^ 0x8000u); }
  friend constexpr bfloat16 operator+(bfloat16 a, bfloat16 b) { return bfloat16(float(a) + float(b)); }
  friend constexpr bfloat16 operator-(bfloat16 a, bfloat16 b) { return bfloat16(float(a) - float(b)); }
  friend constexpr bfloat16 operator*(bfloat16 a, bfloat16 b) { return bfloat16(float(a) * float(b)); }
  friend constexpr bfloat16 operator/(bfloat16 a, bfloat16 b) { return bfloat16(float(a) / float(b)); }

  constexpr bfloat16& operator+=(bfloat16 b) { return *this = *this + b; }
  constexpr bfloat16& operator-=(bfloat16 b) { return *this = *this - b; }
  constexpr bfloat16& operator*=(bfloat16 b) { return *this = *this * b; }
  constexpr bfloat16& operator/=(bfloat16 b) { return *this = *this / b; }

 private:
  static constexpr std::uint16_t narrow(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t high = wide >> 16;
    if (value != value) return static_cast<std::uint16_t>(high | 0x40u);  // a NaN must not be rounded to infinity
    return static_cast<std::uint16_t>((wide + 0x7fffu + (high & 1u)) >> 16);
  }
};

static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16>);

}  // namespace tokamax

template <>
struct std::numeric_limits<tokamax::bfloat16> {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool is_iec559 = false, is_bounded = true, is_modulo = false, traps = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr bool tinyness_before = false;
  static constexpr auto round_style = std::round_to_nearest;
  static constexpr int radix = 2, digits = 8, digits10 = 2, max_digits10 = 4;
  static constexpr int min_exponent = -125, max_exponent = 128, min_exponent10 = -37, max_exponent10 = 38;

  static constexpr tokamax::bfloat16 lowest() { return tokamax::bfloat16::from_bits(0xff7f); }
  static constexpr tokamax::bfloat16 max() { return tokamax::bfloat16::from_bits(0x7f7f); }
  static constexpr tokamax::bfloat16 min() { return tokamax::bfloat16::from_bits(0x0080); }
  static constexpr tokamax::bfloat16 denorm_min() { return tokamax::bfloat16::from_bits(0x0001); }
  static constexpr tokamax::bfloat16 epsilon() { return tokamax::bfloat16::from_bits(0x3c00); }
  static constexpr tokamax::bfloat16 round_error() { return tokamax::bfloat16::from_bits(0x3f00); }
  static constexpr tokamax::bfloat16 infinity() { return tokamax::bfloat16::from_bits(0x7f80); }
  static constexpr tokamax::bfloat16 quiet_NaN() { return tokamax::bfloat16::from_bits(0x7fc0); }
  static constexpr tokamax::bfloat16 signaling_NaN() { return tokamax::bfloat16::from_bits(0x7fa0); }
};
