// tokamax/base/small_float.hpp: float16 and the 8-bit floats.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <bit>          // bit_cast
#include <cstdint>      // uint8_t, uint16_t
#include <limits>       // numeric_limits
#include <type_traits>  // conditional_t

namespace tokamax {

/// A float of one sign bit, `Exponent` exponent bits and `Fraction` fraction bits. If it is `Finite`, it has no
/// infinities: the pattern of all ones is NaN, and numbers that are too large become NaN.
///
/// It converts to float implicitly, which is exact. Conversion from float is explicit and rounds to nearest, ties to
/// even. Doubles are first converted to float, so they are rounded twice, as in JAX.
///
/// source  IEEE 754; "FP8 Formats for Deep Learning" (E4M3, E5M2)
template <int Exponent, int Fraction, bool Finite>
struct small_float {
  static_assert(Exponent + Fraction == 7 || Exponent + Fraction == 15);
  using storage = std::conditional_t<Exponent + Fraction == 7, std::uint8_t, std::uint16_t>;
  storage bits = 0;

  constexpr small_float() = default;
  constexpr explicit small_float(float value) : bits(narrow(value)) {}
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, float>)
  constexpr explicit small_float(T value) : small_float(static_cast<float>(value)) {}
  static constexpr small_float from_bits(storage bits) {
    small_float result;
    result.bits = bits;
    return result;
  }
  constexpr operator float() const { return widen(bits); }
  friend constexpr small_float operator-(small_float x) { return from_bits(static_cast<storage>(x.bits ^ sign)); }

  static constexpr int bias = (1 << (Exponent - 1)) - 1;
  static constexpr unsigned sign = 1u << (Exponent + Fraction), ones = sign - 1;
  static constexpr unsigned infinity = ones >> Fraction << Fraction;  ///< Finite: a number like others
  static constexpr unsigned quiet_nan = Finite ? ones : infinity | 1u << (Fraction - 1);
  static constexpr unsigned largest = Finite ? ones - 1 : infinity - 1;

 private:
  static constexpr storage narrow(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const unsigned s = wide >> 31 ? sign : 0;
    const std::uint32_t magnitude = wide & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<storage>(s | quiet_nan);
    const int exponent = static_cast<int>(magnitude >> 23) - 127 + bias;
    std::uint32_t fraction = (magnitude & 0x7fffffu) | (magnitude >> 23 ? 0x800000u : 0u);
    const int dropped = 23 - Fraction + (exponent > 0 ? 0 : 1 - exponent);  // bits below the last one that is kept
    std::uint32_t kept = 0;
    if (dropped <= 24) {
      kept = fraction >> dropped;
      const std::uint32_t rest = fraction & ((1u << dropped) - 1u), half = 1u << (dropped - 1);
      kept += rest > half || (rest == half && (kept & 1u));
    }
    // The implicit bit of a normal number adds 1 to the exponent, as does a fraction that is rounded up to 2.
    const std::int64_t all =
        exponent > 0 ? (std::int64_t{exponent} - 1) * (1 << Fraction) + kept : static_cast<std::int64_t>(kept);
    if (all > static_cast<std::int64_t>(largest)) return static_cast<storage>(s | (Finite ? quiet_nan : infinity));
    return static_cast<storage>(s | static_cast<unsigned>(all));
  }
  static constexpr float widen(storage bits) {
    const std::uint32_t s = bits & sign ? 0x80000000u : 0u, magnitude = bits & ones;
    if (Finite ? magnitude == ones : magnitude > infinity)
      return std::bit_cast<float>(s | 0x7fc00000u | (Finite ? 0u : (magnitude & (infinity ^ ones)) << (23 - Fraction)));
    if (!Finite && magnitude == infinity) return std::bit_cast<float>(s | 0x7f800000u);
    const std::uint32_t exponent = magnitude >> Fraction;
    if (exponent != 0) return std::bit_cast<float>(s | ((magnitude << (23 - Fraction)) + ((127u - bias) << 23)));
    // A subnormal: a multiple of the smallest number.
    const float unit = std::bit_cast<float>((127u - bias + 1 - Fraction) << 23);
    const float v = static_cast<float>(magnitude) * unit;
    return s ? -v : v;
  }
};

using float16 = small_float<5, 10, false>;      ///< IEEE 754's binary16
using float8_e5m2 = small_float<5, 2, false>;   ///< the upper half of a float16
using float8_e4m3fn = small_float<4, 3, true>;  ///< no infinities, up to 448

}  // namespace tokamax

template <int Exponent, int Fraction, bool Finite>
struct std::numeric_limits<tokamax::small_float<Exponent, Fraction, Finite>> {
  using type = tokamax::small_float<Exponent, Fraction, Finite>;
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = !Finite, has_quiet_NaN = true;
  static constexpr int radix = 2, digits = Fraction + 1;
  static constexpr type lowest() {
    return type::from_bits(static_cast<typename type::storage>(type::largest | type::sign));
  }
  static constexpr type max() { return type::from_bits(type::largest); }
  static constexpr type min() { return type::from_bits(1u << Fraction); }
  static constexpr type denorm_min() { return type::from_bits(1); }
  static constexpr type infinity() { return type::from_bits(Finite ? type::largest : type::infinity); }
  static constexpr type quiet_NaN() { return type::from_bits(type::quiet_nan); }
};
