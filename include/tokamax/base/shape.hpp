// tokamax/base/shape.hpp: a short list of extents, axes or other small integers, held by value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/error.hpp>          // error

#include <cstdint>           // int64_t
#include <initializer_list>  // initializer_list
#include <limits>            // max
#include <string>            // to_string

namespace tokamax {

inline constexpr int max_rank = 16;

namespace detail {
[[noreturn]] void axis_outside(int axis, int rank);
[[noreturn]] void too_many_axes();
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void axis_outside(int axis, int rank) {
  throw error("axis", std::to_string(axis), "an axis of rank " + std::to_string(rank));
}
TOKAMAX_COMPILED_ONCE void too_many_axes() {
  throw error("rank", "more than " + std::to_string(max_rank) + " axes", "at most " + std::to_string(max_rank));
}
#endif
}  // namespace detail

/// Extents of an array; also the type of every other list of at most max_rank integers (axes, permutations, strides).
///
/// errors  "rank" for more of them; "axis" for an index outside. A constant expression keeps one number too many, so
///         that the trace which meets such a list can name the mistake and its line.
struct shape {
  std::int8_t count = 0;
  std::int64_t values[max_rank + 1] = {};

  constexpr shape() = default;
  constexpr shape(std::initializer_list<std::int64_t> list) {
    if (list.size() > max_rank) {
      for (std::int64_t v : list) push_back(v);
      return;
    }
    for (std::int64_t v : list) values[count++] = v;
  }
  constexpr int rank() const { return count; }
  constexpr std::int64_t& operator[](int i) {
    if (__builtin_is_constant_evaluated()) return values[i < 0 ? i + count : i];  // the compiler checks by itself
    return values[place(i)];
  }
  constexpr std::int64_t operator[](int i) const {
    if (__builtin_is_constant_evaluated()) return values[i < 0 ? i + count : i];  // the compiler checks by itself
    return values[place(i)];
  }
  constexpr void push_back(std::int64_t v) {
    if (count >= max_rank) {
      if (!__builtin_is_constant_evaluated()) detail::too_many_axes();
      count = max_rank;
    }
    values[count++] = v;
  }
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
  /// The place of index i, which counts from the end if it is negative.
  constexpr int place(int i) const {
    if (i < -count || i >= count) detail::axis_outside(i, count);
    return i < 0 ? i + count : i;
  }
};

using axes = shape;  ///< a list of axis numbers

inline constexpr int max_symbols = 8;

namespace detail {
// Dynamic extents are numbers far from those that a program counts with, and far from each other.
inline constexpr std::int64_t dynamic_base = -(std::int64_t{1} << 62), dynamic_end = dynamic_base / 2;
inline constexpr std::int64_t dynamic_step = 1000003;
inline constexpr std::int64_t max_factor = (dynamic_end - dynamic_base) / dynamic_step / max_symbols - 1;
constexpr std::int64_t dynamic_extent(int symbol, std::int64_t factor) {
  return dynamic_base + (factor * max_symbols + symbol) * dynamic_step;
}
}  // namespace detail

/// A dynamic extent: `factor` times the symbol `symbol` (0..7), whose value is known when a program runs.
/// Encoded as one negative number, so that a shape stays a list of integers.
consteval std::int64_t dyn(int symbol = 0, std::int64_t factor = 1) {
  if (symbol < 0 || symbol >= max_symbols) throw "dyn: expected a symbol from 0 to 7";
  if (factor < 1 || factor > detail::max_factor) throw "dyn: expected a factor from 1 on";
  return detail::dynamic_extent(symbol, factor);
}
constexpr bool is_dyn(std::int64_t extent) { return extent < detail::dynamic_end; }
constexpr int symbol_of(std::int64_t dynamic) {
  return static_cast<int>((dynamic - detail::dynamic_base) / detail::dynamic_step % max_symbols);
}
constexpr std::int64_t factor_of(std::int64_t dynamic) {
  return (dynamic - detail::dynamic_base) / detail::dynamic_step / max_symbols;
}
/// Can an array have this extent? What arithmetic makes of a dynamic one cannot be told from other negative numbers.
constexpr bool is_extent(std::int64_t extent) {
  return extent >= 0 || (extent > detail::dynamic_base && is_dyn(extent) &&
                         (extent - detail::dynamic_base) % detail::dynamic_step == 0);
}
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

inline constexpr std::int64_t too_large =
    std::numeric_limits<std::int64_t>::max();  ///< what stands for larger products

/// a * b where at most one of them is dynamic (a product of two symbols is outside the encoding; the result is then 0,
/// which no valid program contains and `infer` rules reject). Products beyond 2^63 - 1 are `too_large`.
constexpr std::int64_t mul_extent(std::int64_t a, std::int64_t b) {
  if ((a | b) >> 31 == 0) return a * b;  // the usual case
  if (a >= 0 && b >= 0) return a == 0 || b <= too_large / a ? a * b : too_large;
  if (a < 0 && b < 0) return 0;
  const std::int64_t d = a < 0 ? a : b, k = a < 0 ? b : a;
  if (k == 0) return 0;
  if (factor_of(d) > detail::max_factor / k) return too_large;
  return detail::dynamic_extent(symbol_of(d), factor_of(d) * k);
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
