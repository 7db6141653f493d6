// tokamax/core/type.hpp: what is known of an array without its data, and its text form for messages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/element.hpp>      // dtype
#include <tokamax/base/extent_text.hpp>  // write_extent
#include <tokamax/base/shape.hpp>        // shape

#include <concepts>     // integral
#include <string_view>  // string_view

namespace tokamax {

/// dtype, weakness and extents: what `infer` rules map from and to.
struct array_type {
  tokamax::dtype dtype = tokamax::dtype::none;
  bool weak = false;  ///< a scalar literal's dtype gives way to that of the array it meets
  tokamax::shape shape;
  constexpr bool operator==(const array_type& o) const { return dtype == o.dtype && shape == o.shape; }
};

/// The condition on types of arrays that `t` does not meet, or null if an array can have it. Extents of 0 do not excuse
/// other extents that are too large, because strides are products of them.
constexpr const char* unmet(const array_type& t) {
  static_assert(max_rank == 16);
  if (t.shape.count > max_rank) return "at most 16 axes";
  std::int64_t bytes = size_of(t.dtype);
  for (std::int64_t e : t.shape) {
    if (!is_extent(e)) return "extents from 0 on";
    if (e != 0) bytes = mul_extent(bytes, e);
  }
  return bytes == too_large || !is_extent(bytes) ? "at most 2^63 - 1 bytes" : nullptr;
}

/// Does `given` have the type `expected`, whose dynamic extents may have any value? A symbol has one value: `symbols`
/// holds the values that were found so far, and -1 for the others. A sum tells the value of one symbol that is not known.
constexpr bool fits(const array_type& expected, const array_type& given, std::int64_t* symbols) {
  const shape &want = expected.shape, &have = given.shape;
  if (expected.dtype != given.dtype || want.rank() != have.rank()) return false;
  for (int i = 0; i < want.rank(); ++i)
    if (want[i] != have[i] && (!is_dyn(want[i]) || is_dyn(have[i]) || !find_symbol(want[i], have[i], symbols)))
      return false;
  return true;
}
constexpr bool fits(const array_type& expected, const array_type& given) {
  std::int64_t symbols[max_symbols] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return fits(expected, given, symbols);
}

/// A short message that is built while compiling. It can become a template argument and never allocates; text that does
/// not fit is cut off.
struct message {
  static constexpr int capacity = 63;
  char chars[capacity + 1] = {};
  int length = 0;
  bool names_type = false;  ///< a type or a shape of an array is part of it

  constexpr message() = default;
  constexpr message(std::string_view s) { *this << s; }  // NOLINT: a message is written as a string
  constexpr message(const char* s) : message(std::string_view(s)) {}
  constexpr message(const array_type& t) { *this << t; }
  constexpr std::string_view view() const { return {chars, static_cast<std::size_t>(length)}; }

  constexpr message& operator<<(char c) {
    if (length < capacity) chars[length++] = c;
    return *this;
  }
  constexpr message& operator<<(std::string_view s) {
    for (char c : s) *this << c;
    return *this;
  }
  template <std::integral Index>
  constexpr message& operator<<(Index v) {
    char digits[20] = {};
    int n = 0;
    if (v < 0) *this << '-';
    do {
      const auto digit = static_cast<int>(v % 10);
      digits[n++] = static_cast<char>('0' + (digit < 0 ? -digit : digit));
    } while (v /= 10);
    while (n) *this << digits[--n];
    return *this;
  }
  constexpr message& operator<<(const shape& s) {
    names_type = true;
    *this << '[';
    for (int i = 0; i < s.rank(); ++i) {
      if (i) *this << ',';
      extent(s[i]);
    }
    return *this << ']';
  }
  constexpr message& extent(std::int64_t e) { return is_dyn(e) ? *this << dynamic{e} : *this << e; }
  /// A dynamic extent as `write_extent` has it; "?" for a number that is not an extent.
  struct dynamic {
    std::int64_t extent;
  };
  constexpr message& operator<<(dynamic d) {
    detail::write_extent(*this, d.extent);
    return *this;
  }
  constexpr message& operator<<(const array_type& t) { return *this << name(t.dtype) << t.shape; }
};

}  // namespace tokamax
