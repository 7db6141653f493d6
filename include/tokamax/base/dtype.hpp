// tokamax/base/dtype.hpp: element types and JAX's promotion lattice.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/bfloat16.hpp>  // bfloat16

#include <cstdint>      // int8_t, int32_t
#include <string_view>  // string_view
#include <type_traits>  // is_same_v

namespace tokamax {

/// The type of an array's elements.
enum class dtype : std::uint8_t { none, bool_, i8, i32, u32, bf16, f32 };

inline constexpr dtype bool_ = dtype::bool_;
inline constexpr dtype i8 = dtype::i8;
inline constexpr dtype i32 = dtype::i32;
inline constexpr dtype u32 = dtype::u32;
inline constexpr dtype bf16 = dtype::bf16;
inline constexpr dtype f32 = dtype::f32;

/// What promotion asks of a dtype first: bool < integer < floating, whatever the widths.
enum class dtype_kind : std::uint8_t { none, boolean, signed_integer, unsigned_integer, floating };

/// One row a dtype; adding a dtype is adding a row here and an enumerator above.
struct dtype_info {
  std::string_view name;
  std::string_view stablehlo;
  int size;  ///< bytes in memory
  dtype_kind kind;
};
inline constexpr dtype_info dtype_table[] = {
    {"none", "none", 0, dtype_kind::none},
    {"bool", "i1", 1, dtype_kind::boolean},
    {"i8", "i8", 1, dtype_kind::signed_integer},
    {"i32", "i32", 4, dtype_kind::signed_integer},
    {"u32", "ui32", 4, dtype_kind::unsigned_integer},
    {"bf16", "bf16", 2, dtype_kind::floating},
    {"f32", "f32", 4, dtype_kind::floating},
};

constexpr const dtype_info& info(dtype t) { return dtype_table[static_cast<int>(t)]; }
constexpr std::string_view name(dtype t) { return info(t).name; }
constexpr int size_of(dtype t) { return info(t).size; }
constexpr bool is_floating(dtype t) { return info(t).kind == dtype_kind::floating; }
constexpr bool is_integer(dtype t) {
  return info(t).kind == dtype_kind::signed_integer || info(t).kind == dtype_kind::unsigned_integer;
}

/// The least and the greatest number of an integer dtype.
constexpr double lowest_of(dtype t) {
  return info(t).kind == dtype_kind::signed_integer ? -static_cast<double>(1ull << (8 * size_of(t) - 1)) : 0;
}
constexpr double highest_of(dtype t) {
  const int bits = 8 * size_of(t) - (info(t).kind == dtype_kind::signed_integer);
  return static_cast<double>((1ull << bits) - 1);
}
/// The most that can be counted, or told apart by an index: both are i32.
inline constexpr std::int64_t most_indices = 2147483647;
/// What a dtype keeps of an integer: its low bits, with their sign; bool: whether it is not zero.
constexpr double wrapped(std::int64_t v, dtype t) {
  switch (t) {
    case bool_:
      return v != 0;
    case i8:
      return static_cast<std::int8_t>(v);
    case i32:
      return static_cast<std::int32_t>(v);
    case u32:
      return static_cast<std::uint32_t>(v);
    case bf16:
      return static_cast<double>(static_cast<float>(bfloat16(v)));
    default:
      return static_cast<double>(static_cast<float>(v));
  }
}
/// What a dtype keeps of a number: the nearest that it has, or of an integer the low bits. Integer dtypes drop the
/// fraction, have 0 for NaN and the nearest end for numbers beyond 64 bits.
constexpr double kept(double v, dtype t) {
  if (t == f32) return static_cast<double>(static_cast<float>(v));
  if (t == bf16) return static_cast<double>(static_cast<float>(bfloat16(v)));
  if (t == bool_) return v != 0;
  if (!is_integer(t)) return v;
  if (!(v > -0x1p63)) return v != v ? 0 : lowest_of(t);
  return v < 0x1p63 ? wrapped(static_cast<std::int64_t>(v), t) : highest_of(t);
}

/// The dtype with which a C++ element type is stored; dtype::none for types that are no element type.
template <class T>
inline constexpr dtype dtype_of = std::is_same_v<T, bool>            ? bool_
                                  : std::is_same_v<T, std::int8_t>   ? i8
                                  : std::is_same_v<T, std::int32_t>  ? i32
                                  : std::is_same_v<T, std::uint32_t> ? u32
                                  : std::is_same_v<T, bfloat16>      ? bf16
                                  : std::is_same_v<T, float>         ? f32
                                                                     : dtype::none;

/// A dtype that may be weak: Python-like scalars take the dtype of what they meet within their kind.
struct promoted {
  dtype type = dtype::none;
  bool weak = false;
  constexpr bool operator==(const promoted&) const = default;
};

/// The least upper bound of two dtypes in JAX's lattice (64-bit types disabled, so u32 with i32 is i32).
/// source  jax.dtypes.promote_types, docs "Type promotion semantics"
constexpr promoted promote(promoted a, promoted b) {
  if (a.type == b.type) return {a.type, a.weak && b.weak};
  auto level = [](dtype t) { return t == bool_ ? 0 : is_integer(t) ? 1 : 2; };
  const int la = level(a.type), lb = level(b.type);
  if (la != lb) return la > lb ? a : b;
  if (a.weak != b.weak) return a.weak ? b : a;
  return la == 1 ? promoted{i32, a.weak && b.weak} : promoted{f32, a.weak && b.weak};
}

}  // namespace tokamax
