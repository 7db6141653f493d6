// tokamax/base/small_integer.hpp: integers of 4 bits, each in a byte of its own.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/base/element.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstddef>      // byte
#include <cstdint>      // int8_t, uint8_t
#include <limits>       // numeric_limits
#include <type_traits>  // conditional_t

namespace tokamax {

/// An integer of `Bits` bits whose byte holds its value. Widens to int without being asked, keeps its low bits of any
/// integer when asked.
/// source  ml_dtypes.int4, ml_dtypes.uint4
template <int Bits, bool Signed>
struct small_integer {
  using storage = std::conditional_t<Signed, std::int8_t, std::uint8_t>;
  storage value = 0;

  constexpr small_integer() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr explicit small_integer(T v) : value(kept(static_cast<std::int64_t>(v))) {}
  constexpr operator int() const { return value; }

 private:
  static constexpr storage kept(std::int64_t v) {
    constexpr std::int64_t all = (1 << Bits) - 1, sign = Signed ? 1 << (Bits - 1) : 0;
    return static_cast<storage>(((v & all) ^ sign) - sign);
  }
};

using int4 = small_integer<4, true>;
using uint4 = small_integer<4, false>;

/// n integers of 4 bits, from a byte each to two a byte: the first in the low bits, zeros behind an odd one.
inline void pack_nibbles(const std::byte* from, std::int64_t n, std::byte* to) noexcept {
  constexpr auto low = std::byte{15};
  for (std::int64_t i = 0; i < n / 2; ++i) to[i] = (from[2 * i] & low) | from[2 * i + 1] << 4;
  if (n % 2) to[n / 2] = from[n - 1] & low;
}
/// And back to values of type T, which is int4 or uint4.
template <class T>
void unpack_nibbles(const std::byte* from, std::int64_t n, T* to) noexcept {
  for (std::int64_t i = 0; i < n / 2; ++i) {
    const auto pair = static_cast<std::uint8_t>(from[i]);
    to[2 * i] = T(pair);
    to[2 * i + 1] = T(pair >> 4);
  }
  if (n % 2) to[n - 1] = T(static_cast<std::uint8_t>(from[n / 2]));
}

}  // namespace tokamax

template <int Bits, bool Signed>
struct std::numeric_limits<tokamax::small_integer<Bits, Signed>> {
  using type = tokamax::small_integer<Bits, Signed>;
  static constexpr bool is_specialized = true, is_signed = Signed, is_integer = true, is_exact = true;
  static constexpr bool has_infinity = false, has_quiet_NaN = false;
  static constexpr int radix = 2, digits = Bits - Signed;
  static constexpr type lowest() { return type(Signed ? -(1 << (Bits - 1)) : 0); }
  static constexpr type min() { return lowest(); }
  static constexpr type max() { return type((1 << digits) - 1); }
  static constexpr type infinity() { return type(); }
  static constexpr type quiet_NaN() { return type(); }
};
