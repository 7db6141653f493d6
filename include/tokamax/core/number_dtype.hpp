// tokamax/core/number_dtype.hpp: the dtypes that numbers of C++ have in arrays.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/array.cpp
#pragma once

#include <tokamax/base/element.hpp>  // element_bits, dtype_of
#include <tokamax/base/error.hpp>    // error
#include <tokamax/base/extent.hpp>   // is_dyn, is_extent

#include <cstdint>      // int64_t
#include <iterator>     // size, begin
#include <string>       // to_string
#include <type_traits>  // is_arithmetic_v

namespace tokamax {

template <class T>
concept arithmetic = std::is_arithmetic_v<T>;
/// A vector of numbers, or what is like one.
template <class T>
concept number_list = requires(const T& list) {
  std::size(list);
  requires arithmetic<std::remove_cvref_t<decltype(*std::begin(list))>>;
};

namespace detail {
template <arithmetic T>
constexpr element_bits kept_of(T value, dtype type) {
  if constexpr (std::is_floating_point_v<T>)
    return kept(static_cast<double>(value), type);
  else if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8)
    return converted_to(type, value);
  else
    return kept(static_cast<std::int64_t>(value), type);
}

/// The dtype of a list of numbers of type T: that of T, but with 32 bits instead of 64.
template <arithmetic T>
inline constexpr dtype number_dtype = dtype_of<T> != dtype::none && sizeof(T) <= 4 ? dtype_of<T>
                                      : std::is_integral_v<T>                      ? i32
                                                                                   : f32;
/// The dtype of as many bits and of the same kind.
template <class T>
inline constexpr dtype dtype_like =
    std::is_same_v<T, bool> ? bool_
    : std::is_floating_point_v<T>
        ? (sizeof(T) <= 4 ? f32 : f64)
        : narrowest(std::is_signed_v<T> ? dtype_kind::signed_integer : dtype_kind::unsigned_integer,
                    8 * static_cast<int>(sizeof(T)));
template <arithmetic T>
constexpr dtype literal_dtype(T value) {
  if constexpr (std::is_same_v<T, bool>) return bool_;
  if constexpr (std::is_floating_point_v<T>) return f32;
  if constexpr (std::is_unsigned_v<T>) {
    const auto v = static_cast<std::uint64_t>(value);
    if (v <= 0x7fffffff) return i32;
    if (v <= 0xffffffff) return u32;
  } else {
    const auto v = static_cast<std::int64_t>(value);
    if (v == static_cast<std::int32_t>(v)) return i32;
    if (v <= -(std::int64_t{1} << 60) && std::is_constant_evaluated()) return i32;  // a dynamic extent
    if (is_dyn(v) && is_extent(v)) throw error("dynamic extent: as a number", "a literal", "extent_as_array(extent)");
  }
  throw error("array: literal", std::to_string(value), "an integer of 32 bits");
}
}  // namespace detail

}  // namespace tokamax
