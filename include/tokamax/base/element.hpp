// tokamax/base/element.hpp: the C++ type of each dtype, the one choice by dtype, and elements as bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/bfloat16.hpp>       // bfloat16
#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/dtype.hpp>          // dtype
#include <tokamax/base/error.hpp>          // error
#include <tokamax/base/small_float.hpp>    // float16
#include <tokamax/base/small_integer.hpp>  // int4

#include <bit>          // bit_cast
#include <limits>       // numeric_limits
#include <type_traits>  // is_same_v
#include <utility>      // index_sequence

namespace tokamax {

namespace detail {
template <dtype T>
struct element {};
template <>
struct element<bool_> {
  using type = bool;
};
template <>
struct element<i4> {
  using type = int4;
};
template <>
struct element<i8> {
  using type = std::int8_t;
};
template <>
struct element<i16> {
  using type = std::int16_t;
};
template <>
struct element<i32> {
  using type = std::int32_t;
};
template <>
struct element<i64> {
  using type = std::int64_t;
};
template <>
struct element<u4> {
  using type = uint4;
};
template <>
struct element<u8> {
  using type = std::uint8_t;
};
template <>
struct element<u16> {
  using type = std::uint16_t;
};
template <>
struct element<u32> {
  using type = std::uint32_t;
};
template <>
struct element<u64> {
  using type = std::uint64_t;
};
template <>
struct element<f8e4m3fn> {
  using type = float8_e4m3fn;
};
template <>
struct element<f8e5m2> {
  using type = float8_e5m2;
};
template <>
struct element<f16> {
  using type = float16;
};
template <>
struct element<bf16> {
  using type = bfloat16;
};
template <>
struct element<f32> {
  using type = float;
};
template <>
struct element<f64> {
  using type = double;
};
}  // namespace detail

/// What an element of a dtype is in memory.
template <dtype T>
using element_t = typename detail::element<T>::type;

/// Calls `f.template operator()<T>()` with the dtype that `t` is. No dtype stands for the others.
/// errors  tokamax::error for dtype::none
template <class F>
constexpr decltype(auto) dispatch(dtype t, F&& f) {
  switch (t) {
    case bool_:
      return f.template operator()<bool_>();
    case i4:
      return f.template operator()<i4>();
    case i8:
      return f.template operator()<i8>();
    case i16:
      return f.template operator()<i16>();
    case i32:
      return f.template operator()<i32>();
    case i64:
      return f.template operator()<i64>();
    case u4:
      return f.template operator()<u4>();
    case u8:
      return f.template operator()<u8>();
    case u16:
      return f.template operator()<u16>();
    case u32:
      return f.template operator()<u32>();
    case u64:
      return f.template operator()<u64>();
    case f8e4m3fn:
      return f.template operator()<f8e4m3fn>();
    case f8e5m2:
      return f.template operator()<f8e5m2>();
    case f16:
      return f.template operator()<f16>();
    case bf16:
      return f.template operator()<bf16>();
    case f32:
      return f.template operator()<f32>();
    case f64:
      return f.template operator()<f64>();
    case dtype::none:
      break;
  }
  throw error("dtype", "none", "that of an array");
}

namespace detail {
template <class T, std::size_t... Index>
consteval dtype find_dtype(std::index_sequence<Index...>) {
  dtype found = dtype::none;
  ((std::is_same_v<T, element_t<static_cast<dtype>(Index + 1)>> ? void(found = static_cast<dtype>(Index + 1)) : void()),
   ...);
  return found;
}
}  // namespace detail

/// The dtype with which a C++ element type is stored; dtype::none for types that are no element type.
template <class T>
inline constexpr dtype dtype_of = detail::find_dtype<T>(std::make_index_sequence<dtype_count - 1>{});

/// What kernels compute a dtype in: 32 bits for narrower ones, whose results are then rounded or wrapped.
constexpr dtype compute_dtype(dtype t) {
  if (t == bool_ || bits_of(t) >= 32) return t;
  return is_floating(t) ? f32 : is_signed(t) ? i32 : u32;
}

namespace detail {
template <class T>
inline constexpr bool is_small_integer = std::numeric_limits<T>::is_integer && !std::is_arithmetic_v<T>;

/// The nearest integer of type To within its range, toward zero; NaN is 0.
template <class To, class From>
constexpr To truncated(From v) {
  using limits = std::numeric_limits<To>;
  const From end = static_cast<From>(std::uint64_t{1} << (limits::digits - 1)) * 2;  // above the highest, and exact
  if (v != v) return To(0);
  if (v >= end) return limits::max();
  if (v <= static_cast<From>(limits::lowest())) return limits::lowest();
  return static_cast<To>(v);
}
}  // namespace detail

/// A number as one of another element type, as data is converted: floats are rounded to the nearest; to integers they drop
/// the fraction, those beyond the range become its ends and NaN 0; integers keep their low bits; bool is `v != 0`.
/// source  jax.lax.convert_element_type
template <class To, class From>
constexpr To converted(From v) {
  if constexpr (std::is_same_v<To, From>)
    return v;
  else if constexpr (detail::is_small_integer<From>)
    return converted<To>(v.value);
  else if constexpr (!std::is_arithmetic_v<From>)
    return converted<To>(static_cast<float>(v));  // exact
  else if constexpr (std::is_same_v<To, bool>)
    return v != From{};
  else if constexpr (std::numeric_limits<To>::is_integer && std::is_floating_point_v<From>)
    return detail::truncated<To>(v);
  else
    return static_cast<To>(v);
}

/// One element in 64 bits: those of a float, zeros above them; an integer of up to 64 bits as itself. An i32 may hold a
/// dynamic extent, which has more bits.
struct element_bits {
  std::uint64_t value = 0;
  constexpr bool operator==(const element_bits&) const = default;

  template <class T>
  static constexpr element_bits of(T v) {
    if constexpr (std::is_integral_v<T>)
      return {static_cast<std::uint64_t>(v)};
    else if constexpr (detail::is_small_integer<T>)
      return {static_cast<std::uint64_t>(v.value)};
    else if constexpr (std::is_same_v<T, float>)
      return {std::bit_cast<std::uint32_t>(v)};
    else if constexpr (std::is_same_v<T, double>)
      return {std::bit_cast<std::uint64_t>(v)};
    else
      return {v.bits};
  }
  template <class T>
  constexpr T as() const {
    if constexpr (std::is_same_v<T, bool>)
      return value != 0;
    else if constexpr (std::is_integral_v<T> || detail::is_small_integer<T>)
      return static_cast<T>(value);
    else if constexpr (std::is_same_v<T, float>)
      return std::bit_cast<float>(static_cast<std::uint32_t>(value));
    else if constexpr (std::is_same_v<T, double>)
      return std::bit_cast<double>(value);
    else
      return T::from_bits(static_cast<decltype(T::bits)>(value));
  }
};

namespace detail {
/// Of an integer that may be a dynamic extent, which stays what it is until a trace refuses it.
constexpr bool may_be_extent(std::int64_t v) { return v <= -(std::int64_t{1} << 60); }
/// Of a number that may be a dynamic extent or the inverse of one. Most extents have values that programs do not use
/// otherwise: close below -2^61, or -2^62 for sums. Halves and quarters of them count too.
constexpr bool may_be_extent(double v) {
  for (double end = -0x1p58; end >= -0x1p62 && v < 0; end *= 2)
    if ((v <= end && v >= end * 0x1.004p0) || (v >= 1 / end && v <= 0x1.ff8p-1 / end)) return true;
  return false;
}
/// f16 and the 8-bit floats have no number as large as a dynamic extent, which is kept as this NaN, so that a trace can
/// refuse it too.
constexpr bool lacks_extents(dtype t) { return is_floating(t) && bits_of(t) <= 16 && t != bf16; }
constexpr element_bits extent_mark(dtype t) { return {t == f16 ? 0xfe5du : t == f8e5m2 ? 0xfdu : 0xffu}; }
constexpr bool becomes_mark(auto v, dtype t) {
  return lacks_extents(t) && __builtin_is_constant_evaluated() && may_be_extent(v);
}
// Numbers of the floating dtypes beside f32 and f64, which are written to and read from f32.
constexpr element_bits narrowed(dtype to, float v) {
  return dispatch(to, [&]<dtype T>() -> element_bits {
    if constexpr (!is_floating(T) || std::is_arithmetic_v<element_t<T>>)
      return {};
    else
      return element_bits::of(element_t<T>(v));
  });
}
constexpr float widened(element_bits v, dtype from) {
  return dispatch(from, [&]<dtype T>() -> float {
    if constexpr (!is_floating(T) || std::is_arithmetic_v<element_t<T>>)
      return 0;
    else
      return static_cast<float>(v.as<element_t<T>>());
  });
}
float widened_late(element_bits v, dtype from);  // the same, compiled once for calls at run time
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE float widened_late(element_bits v, dtype from) { return widened(v, from); }
#endif
}  // namespace detail

/// An element as a double: exact but for integers beyond 2^53.
constexpr double as_double(element_bits v, dtype t) {
  if (t == f32) return static_cast<double>(v.as<float>());
  if (is_signed(t)) return static_cast<double>(static_cast<std::int64_t>(v.value));
  if (t == dtype::none) return 0;
  if (!is_floating(t)) return static_cast<double>(v.value);
  if (t == f64) return v.as<double>();
  if (__builtin_is_constant_evaluated()) return static_cast<double>(detail::widened(v, t));
  return static_cast<double>(detail::widened_late(v, t));
}

namespace detail {
/// What an integer dtype keeps of a whole number: its low bits, above them those of its sign, if it has one.
constexpr element_bits low_bits(dtype to, std::uint64_t v) {
  const int unused = 64 - bits_of(to);
  const std::uint64_t high = v << unused;
  return {is_signed(to) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(high) >> unused) : high >> unused};
}
/// The nearest integer of a dtype, toward zero; NaN is 0.
constexpr element_bits truncated_to(dtype to, double v) {
  const std::uint64_t highest = ~std::uint64_t{0} >> (64 - bits_of(to) + is_signed(to));
  const double end = 2 * static_cast<double>(highest / 2 + 1);  // above the highest, and exact
  if (v != v) return {};
  if (v >= end) return {highest};
  if (!is_signed(to)) return {v <= 0 ? 0 : static_cast<std::uint64_t>(v)};
  return {v <= -end ? ~highest : static_cast<std::uint64_t>(static_cast<std::int64_t>(v))};
}
/// A number of 64 bits as an element, as `converted` has it.
template <class From>
constexpr element_bits converted_by_dtype(dtype to, From v) {
  if (to == bool_) return {v != From{}};
  if (to == f64) return element_bits::of(static_cast<double>(v));
  if (is_floating(to) || to == dtype::none) return narrowed(to, static_cast<float>(v));
  if constexpr (std::is_floating_point_v<From>)
    return truncated_to(to, v);
  else
    return low_bits(to, static_cast<std::uint64_t>(v));
}
// The same, compiled once for calls at run time.
element_bits converted_late(dtype to, double v);
element_bits converted_late(dtype to, std::int64_t v);
element_bits converted_late(dtype to, std::uint64_t v);
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE element_bits converted_late(dtype to, double v) { return converted_by_dtype(to, v); }
TOKAMAX_COMPILED_ONCE element_bits converted_late(dtype to, std::int64_t v) { return converted_by_dtype(to, v); }
TOKAMAX_COMPILED_ONCE element_bits converted_late(dtype to, std::uint64_t v) { return converted_by_dtype(to, v); }
#endif

template <class From>
constexpr element_bits converted_to(dtype to, From v) {
  using number = std::conditional_t<std::is_floating_point_v<From>, double,
                                    std::conditional_t<std::is_unsigned_v<From>, std::uint64_t, std::int64_t>>;
  if (to == f32) return element_bits::of(static_cast<float>(v));
  if (__builtin_is_constant_evaluated()) return converted_by_dtype(to, static_cast<number>(v));
  return converted_late(to, static_cast<number>(v));
}
}  // namespace detail

/// An element as one of another dtype.
constexpr element_bits converted(element_bits v, dtype from, dtype to) {
  if (from == to) return v;
  if (is_floating(from)) {
    const double number = as_double(v, from);
    return detail::becomes_mark(number, to) ? detail::extent_mark(to) : detail::converted_to(to, number);
  }
  if (!is_signed(from)) return detail::converted_to(to, v.value);
  const auto whole = static_cast<std::int64_t>(v.value);
  if (bits_of(from) < 64 && detail::becomes_mark(whole, to)) return detail::extent_mark(to);
  return is_integer(to) && bits_of(from) < 64 && detail::may_be_extent(whole) ? v : detail::converted_to(to, whole);
}

/// What a dtype keeps of an integer: its low bits, with their sign, or the nearest number; bool: whether it is not zero.
constexpr element_bits kept(std::int64_t v, dtype t) {
  if (detail::becomes_mark(v, t)) return detail::extent_mark(t);
  return is_integer(t) && detail::may_be_extent(v) ? element_bits::of(v) : detail::converted_to(t, v);
}
/// The same of any number. Integer dtypes drop the fraction, have 0 for NaN and the nearest end for numbers beyond 64 bits.
constexpr element_bits kept(double v, dtype t) {
  if (detail::becomes_mark(v, t)) return detail::extent_mark(t);
  if (is_integer(t) && v > -0x1p63 && v < 0x1p63) return kept(static_cast<std::int64_t>(v), t);
  return detail::converted_to(t, v);
}

/// The least and the greatest number of an integer dtype.
constexpr double lowest_of(dtype t) { return is_signed(t) ? -static_cast<double>(1ull << (bits_of(t) - 1)) : 0; }
constexpr double highest_of(dtype t) {
  return static_cast<double>(~std::uint64_t{0} >> (64 - bits_of(t) + is_signed(t)));
}

}  // namespace tokamax
