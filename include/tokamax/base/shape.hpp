// tokamax/base/shape.hpp: a short list of extents, axes or other small integers, held by value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>           // int64_t
#include <initializer_list>  // initializer_list

namespace tokamax {

inline constexpr int max_rank = 8;

/// Extents of an array; also the type of every other list of at most max_rank integers (axes, permutations, strides).
struct shape {
  std::int8_t count = 0;
  std::int64_t values[max_rank] = {};

  constexpr shape() = default;
  constexpr shape(std::initializer_list<std::int64_t> list) {
    for (std::int64_t v : list) values[count++] = v;
  }
  constexpr int rank() const { return count; }
  constexpr std::int64_t& operator[](int i) { return values[i < 0 ? i + count : i]; }
  constexpr std::int64_t operator[](int i) const { return values[i < 0 ? i + count : i]; }
  constexpr void push_back(std::int64_t v) { values[count++] = v; }
  constexpr const std::int64_t* begin() const { return values; }
  constexpr const std::int64_t* end() const { return values + count; }
  constexpr bool contains(std::int64_t v) const {
    for (int i = 0; i < count; ++i)
      if (values[i] == v) return true;
    return false;
  }
  constexpr bool operator==(const shape& o) const {
    if (count != o.count) return false;
    for (int i = 0; i < count; ++i)
      if (values[i] != o.values[i]) return false;
    return true;
  }
};

using axes = shape;  ///< a list of axis numbers

inline constexpr int max_symbols = 8;

/// A dynamic extent: `factor` times the symbol `symbol` (0..7), whose value is known when a program runs.
/// Encoded as one negative number, so that a shape stays a list of integers.
constexpr std::int64_t dyn(int symbol = 0, std::int64_t factor = 1) { return -(factor * 8 + symbol) - 1; }
constexpr bool is_dyn(std::int64_t extent) { return extent < 0; }

/// The value of an extent for given symbols.
constexpr std::int64_t resolve(std::int64_t extent, const std::int64_t* symbols) {
  if (extent >= 0) return extent;
  const std::int64_t code = -extent - 1;
  return code / 8 * symbols[code % 8];
}

/// a * b where at most one of them is dynamic (a product of two symbols is outside the encoding; the result is then 0,
/// which no valid program contains and `infer` rules reject).
constexpr std::int64_t mul_extent(std::int64_t a, std::int64_t b) {
  if (a >= 0 && b >= 0) return a * b;
  if (a < 0 && b < 0) return 0;
  const std::int64_t d = a < 0 ? a : b, k = a < 0 ? b : a, code = -d - 1;
  return k == 0 ? 0 : dyn(static_cast<int>(code % 8), code / 8 * k);
}

/// Number of elements; dynamic if one extent is.
constexpr std::int64_t size(const shape& s) {
  std::int64_t n = 1;
  for (int i = 0; i < s.count; ++i) n = mul_extent(n, s.values[i]);
  return n;
}

/// 0, 1, ..., n - 1
constexpr axes iota_axes(int n) {
  axes a;
  for (int i = 0; i < n; ++i) a.push_back(i);
  return a;
}

/// The axes of a rank-`rank` array that are not in `taken`, in order.
constexpr axes other_axes(int rank, const axes& taken) {
  axes a;
  for (int i = 0; i < rank; ++i)
    if (!taken.contains(i)) a.push_back(i);
  return a;
}

}  // namespace tokamax
