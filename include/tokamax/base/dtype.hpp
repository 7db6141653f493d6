// tokamax/base/dtype.hpp: element types by name, one row each.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/base/element.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstdint>      // uint8_t
#include <string_view>  // string_view

namespace tokamax {

/// The type of an array's elements.
enum class dtype : std::uint8_t {
  none,
  bool_,
  i4,
  i8,
  i16,
  i32,
  i64,
  u4,
  u8,
  u16,
  u32,
  u64,
  f8e4m3fn,
  f8e5m2,
  f16,
  bf16,
  f32,
  f64
};

inline constexpr dtype bool_ = dtype::bool_;
inline constexpr dtype i4 = dtype::i4;
inline constexpr dtype i8 = dtype::i8;
inline constexpr dtype i16 = dtype::i16;
inline constexpr dtype i32 = dtype::i32;
inline constexpr dtype i64 = dtype::i64;
inline constexpr dtype u4 = dtype::u4;
inline constexpr dtype u8 = dtype::u8;
inline constexpr dtype u16 = dtype::u16;
inline constexpr dtype u32 = dtype::u32;
inline constexpr dtype u64 = dtype::u64;
inline constexpr dtype f8e4m3fn = dtype::f8e4m3fn;
inline constexpr dtype f8e5m2 = dtype::f8e5m2;
inline constexpr dtype f16 = dtype::f16;
inline constexpr dtype bf16 = dtype::bf16;
inline constexpr dtype f32 = dtype::f32;
inline constexpr dtype f64 = dtype::f64;

/// What promotion asks of a dtype first: bool < integer < floating, whatever the widths.
enum class dtype_kind : std::uint8_t { none, boolean, signed_integer, unsigned_integer, floating };

/// One row a dtype. Its type in C++ stands in base/element.hpp; all else follows from these two.
struct dtype_info {
  std::string_view name;
  std::string_view stablehlo;
  std::string_view safetensors;
  int bits;  ///< of an element where elements are packed, as in files
  dtype_kind kind;
};
inline constexpr dtype_info dtype_table[] = {
    {"none", "none", "", 0, dtype_kind::none},
    {"bool", "i1", "BOOL", 8, dtype_kind::boolean},
    {"i4", "i4", "I4", 4, dtype_kind::signed_integer},
    {"i8", "i8", "I8", 8, dtype_kind::signed_integer},
    {"i16", "i16", "I16", 16, dtype_kind::signed_integer},
    {"i32", "i32", "I32", 32, dtype_kind::signed_integer},
    {"i64", "i64", "I64", 64, dtype_kind::signed_integer},
    {"u4", "ui4", "U4", 4, dtype_kind::unsigned_integer},
    {"u8", "ui8", "U8", 8, dtype_kind::unsigned_integer},
    {"u16", "ui16", "U16", 16, dtype_kind::unsigned_integer},
    {"u32", "ui32", "U32", 32, dtype_kind::unsigned_integer},
    {"u64", "ui64", "U64", 64, dtype_kind::unsigned_integer},
    {"f8e4m3fn", "f8E4M3FN", "F8_E4M3", 8, dtype_kind::floating},
    {"f8e5m2", "f8E5M2", "F8_E5M2", 8, dtype_kind::floating},
    {"f16", "f16", "F16", 16, dtype_kind::floating},
    {"bf16", "bf16", "BF16", 16, dtype_kind::floating},
    {"f32", "f32", "F32", 32, dtype_kind::floating},
    {"f64", "f64", "F64", 64, dtype_kind::floating},
};
inline constexpr int dtype_count = static_cast<int>(sizeof dtype_table / sizeof *dtype_table);  ///< with none

constexpr const dtype_info& info(dtype t) { return dtype_table[static_cast<int>(t)]; }
constexpr std::string_view name(dtype t) { return info(t).name; }
constexpr int bits_of(dtype t) { return info(t).bits; }
/// Bytes of an element in memory: i4 and u4 take a whole one, so that every element has an address and a stride.
constexpr int size_of(dtype t) { return (info(t).bits + 7) / 8; }
constexpr bool is_floating(dtype t) { return info(t).kind == dtype_kind::floating; }
constexpr bool is_signed(dtype t) { return info(t).kind == dtype_kind::signed_integer; }
constexpr bool is_unsigned(dtype t) { return info(t).kind == dtype_kind::unsigned_integer; }
constexpr bool is_integer(dtype t) { return is_signed(t) || is_unsigned(t); }
/// Do elements share bytes where they are packed?
constexpr bool is_packed(dtype t) { return t != dtype::none && bits_of(t) < 8; }

/// The most that can be counted, or told apart by an index: both are i32.
inline constexpr std::int64_t most_indices = 2147483647;

/// The dtype of a kind with at least so many bits, none if there is none.
constexpr dtype narrowest(dtype_kind kind, int bits) {
  dtype best = dtype::none;
  for (int i = 1; i < dtype_count; ++i) {
    const auto t = static_cast<dtype>(i);
    if (info(t).kind == kind && bits_of(t) >= bits && (best == dtype::none || bits_of(t) < bits_of(best))) best = t;
  }
  return best;
}

/// What functions of real numbers compute integers and truth values in: f64 for 64-bit ones.
constexpr dtype floating_for(dtype t) {
  return is_floating(t) ? t : narrowest(dtype_kind::floating, bits_of(t) == 64 ? 64 : 32);
}
/// The same of floats narrower than 32 bits: what sums and derivatives of them are carried in.
constexpr dtype carrying(dtype t) {
  const dtype real = floating_for(t);
  return bits_of(real) < 32 ? narrowest(dtype_kind::floating, 32) : real;
}

/// A dtype that may be weak: Python-like scalars take the dtype of what they meet within their kind.
struct promoted {
  dtype type = dtype::none;
  bool weak = false;
  constexpr bool operator==(const promoted&) const = default;
};

namespace detail {
constexpr promoted promote_integers(promoted a, promoted b) {
  const bool weak = a.weak && b.weak;
  if (a.weak != b.weak) return a.weak ? b : a;
  if (info(a.type).kind == info(b.type).kind) return {bits_of(a.type) >= bits_of(b.type) ? a.type : b.type, weak};
  const dtype with_sign = is_signed(a.type) ? a.type : b.type, without = is_signed(a.type) ? b.type : a.type;
  if (bits_of(with_sign) > bits_of(without)) return {with_sign, weak};
  // No signed dtype has all u64. Only a 64-bit operand makes a 64-bit result.
  if (bits_of(without) == 64) return {narrowest(dtype_kind::floating, 64), true};
  const int bits = bits_of(without) == 32 && bits_of(with_sign) <= 32 ? 32 : 2 * bits_of(without);
  return {narrowest(dtype_kind::signed_integer, bits), weak};
}
constexpr promoted promote_floats(promoted a, promoted b) {
  if (a.weak != b.weak) return a.weak ? b : a;
  const int la = bits_of(a.type), lb = bits_of(b.type);
  if (la != lb) {
    if (!a.weak && (la < 16 || lb < 16)) return {};
    return la > lb ? a : b;
  }
  return la < 16 ? promoted{} : promoted{narrowest(dtype_kind::floating, 2 * la), a.weak};
}
}  // namespace detail

/// The least upper bound of two dtypes in JAX's lattice; dtype::none where there is none, as of two 8-bit floats or
/// of i4 and i8. What has 64 bits there has 32 here unless an operand has 64: u32 and i32 have i32, u32 and i64 have i64.
/// source  jax.dtypes.promote_types, docs "Type promotion semantics"
constexpr promoted promote(promoted a, promoted b) {
  if (a.type == b.type) return {a.type, a.weak && b.weak};
  if (is_packed(a.type) || is_packed(b.type)) {  // those that are storage meet truth values and weak integers only
    const promoted small = is_packed(a.type) ? a : b, other = is_packed(a.type) ? b : a;
    return other.type == bool_ || (other.weak && is_integer(other.type)) ? small : promoted{};
  }
  auto level = [](dtype t) { return t == bool_ ? 0 : is_integer(t) ? 1 : 2; };
  const int la = level(a.type), lb = level(b.type);
  if (la == lb) return la == 1 ? detail::promote_integers(a, b) : detail::promote_floats(a, b);
  const promoted high = la > lb ? a : b, low = la > lb ? b : a;
  if (high.weak && !low.weak && bits_of(low.type) == 64) return {narrowest(dtype_kind::floating, 64), true};
  return high;
}

}  // namespace tokamax
