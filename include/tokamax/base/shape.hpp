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
constexpr std::int64_t dyn(int symbol = 0, std::int64_t factor = 1) { return -(factor * max_symbols + symbol) - 1; }
constexpr bool is_dyn(std::int64_t extent) { return extent < 0; }
constexpr int symbol_of(std::int64_t dynamic) { return static_cast<int>((-dynamic - 1) % max_symbols); }
constexpr std::int64_t factor_of(std::int64_t dynamic) { return (-dynamic - 1) / max_symbols; }
constexpr bool is_dynamic(const shape& s) {
  for (std::int64_t e : s)
    if (is_dyn(e)) return true;
  return false;
}

/// The values for which arenas are laid out while compiling.
inline constexpr std::int64_t one_of_each_symbol[max_symbols] = {1, 1, 1, 1, 1, 1, 1, 1};

/// The value of an extent for given symbols.
constexpr std::int64_t resolve(std::int64_t extent, const std::int64_t* symbols) {
  return is_dyn(extent) ? factor_of(extent) * symbols[symbol_of(extent)] : extent;
}

/// a * b where at most one of them is dynamic (a product of two symbols is outside the encoding; the result is then 0,
/// which no valid program contains and `infer` rules reject).
constexpr std::int64_t mul_extent(std::int64_t a, std::int64_t b) {
  if (a >= 0 && b >= 0) return a * b;
  if (a < 0 && b < 0) return 0;
  const std::int64_t d = a < 0 ? a : b, k = a < 0 ? b : a;
  return k == 0 ? 0 : dyn(symbol_of(d), factor_of(d) * k);
}

/// Number of elements; dynamic if one extent is.
constexpr std::int64_t size(const shape& s) {
  std::int64_t n = 1;
  for (int i = 0; i < s.count; ++i) n = mul_extent(n, s.values[i]);
  return n;
}

/// Strides of a dense array, in elements.
constexpr shape row_major(const shape& s) {
  shape st = s;
  std::int64_t n = 1;
  for (int i = s.count - 1; i >= 0; --i) {
    st.values[i] = n;
    n = mul_extent(n, s.values[i]);
  }
  return st;
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
