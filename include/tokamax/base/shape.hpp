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

/// The extents of an array. Other lists of at most max_rank integers (axes, permutations, strides) have this type too.
///
/// errors  "rank" for longer lists, "axis" for an index outside. In a constant expression nothing is thrown: the list
///         keeps one number too many, and the trace that meets it reports the mistake with its line
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
  /// The position of index i, which counts from the end if it is negative.
  constexpr int place(int i) const {
    if (i < -count || i >= count) detail::axis_outside(i, count);
    return i < 0 ? i + count : i;
  }
};

/// A list of axis numbers.
struct axes : shape {
  using shape::shape;
  constexpr axes() = default;
  constexpr axes(const shape& s) : shape(s) {}
};
/// For each axis of a result the axis of the operand that it is.
struct permutation : axes {
  using axes::axes;
  constexpr permutation() = default;
  constexpr permutation(const axes& a) : axes(a) {}
};

inline constexpr int max_symbols = 8;

namespace detail {
// A dynamic extent is one negative number: a factor of 36 bits times a product of up to three symbols, which are written
// as digits s + 1 to the base 9. The numbers are far from those that programs count with, and far from each other. So a
// sum, difference or quotient of two of them is not taken for an extent.
inline constexpr std::int64_t dynamic_end = -(std::int64_t{1} << 61), dynamic_step = 32749;
inline constexpr std::int64_t max_factor = (std::int64_t{1} << 36) - 1;
/// The digits for how often each symbol is a factor, 2 bits each; 0 if there are too many.
constexpr std::int64_t digits_of(unsigned exponents) {
  std::int64_t digits = 0;
  for (int s = 0; s < max_symbols; ++s)
    for (unsigned k = exponents >> 2 * s & 3; k; --k) digits = 9 * digits + s + 1;
  return digits < 729 ? digits : 0;
}
constexpr std::int64_t dynamic_extent(std::int64_t factor, unsigned exponents) {
  return dynamic_end - (factor << 10 | digits_of(exponents)) * dynamic_step;
}
constexpr std::int64_t payload(std::int64_t extent) {  // of any negative number
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(dynamic_end) - static_cast<std::uint64_t>(extent)) /
                                   static_cast<std::uint64_t>(dynamic_step));
}
}  // namespace detail

/// A dynamic extent: `factor` times the symbol `symbol` (0..7), whose value is known when a program runs.
/// Encoded as one negative number, so that a shape stays a list of integers.
consteval std::int64_t dyn(int symbol = 0, std::int64_t factor = 1) {
  if (symbol < 0 || symbol >= max_symbols) throw "dyn: expected a symbol from 0 to 7";
  if (factor < 1 || factor > detail::max_factor) throw "dyn: expected a factor from 1 on";
  return detail::dynamic_extent(factor, 1u << 2 * symbol);
}
constexpr bool is_dyn(std::int64_t extent) { return extent < detail::dynamic_end; }
constexpr std::int64_t factor_of(std::int64_t dynamic) { return detail::payload(dynamic) >> 10; }
/// How often each symbol is a factor of a dynamic extent, 2 bits each.
constexpr unsigned exponents_of(std::int64_t dynamic) {
  unsigned exponents = 0;
  for (std::int64_t digits = detail::payload(dynamic) & 1023; digits % 9; digits /= 9)
    exponents += 1u << 2 * (digits % 9 - 1);
  return exponents;
}
/// The symbol of a dynamic extent; -1 if it is a product of several.
constexpr int symbol_of(std::int64_t dynamic) {
  for (int s = 0; s < max_symbols; ++s)
    if (exponents_of(dynamic) == 1u << 2 * s) return s;
  return -1;
}
/// Can an array have this extent? If a program has computed with a dynamic extent, the result looks like any other
/// negative number and is refused.
constexpr bool is_extent(std::int64_t extent) {
  if (extent >= 0) return true;
  const unsigned exponents = is_dyn(extent) ? exponents_of(extent) : 0;
  return exponents != 0 && factor_of(extent) <= detail::max_factor &&
         extent == detail::dynamic_extent(factor_of(extent), exponents);
}
constexpr bool is_dynamic(const shape& s) {
  for (std::int64_t e : s)
    if (is_dyn(e)) return true;
  return false;
}

/// The values of the symbols for which arenas are laid out while compiling.
inline constexpr std::int64_t one_of_each_symbol[max_symbols] = {1, 1, 1, 1, 1, 1, 1, 1};

/// The value of an extent, stride or offset for given symbols.
constexpr std::int64_t resolve(std::int64_t extent, const std::int64_t* symbols) {
  if (!is_dyn(extent)) return extent;
  std::int64_t n = factor_of(extent);
  for (unsigned e = exponents_of(extent); e; e >>= 2, ++symbols)
    for (unsigned k = e & 3; k; --k) n *= *symbols;
  return n;
}

inline constexpr std::int64_t too_large = std::numeric_limits<std::int64_t>::max();  ///< stands for all larger products
/// Stands for a result that is not an extent, or that cannot be encoded.
inline constexpr std::int64_t no_extent = detail::dynamic_end;

/// Can these be the extents of an array, whatever its size?
constexpr bool are_extents(const shape& s) {
  for (std::int64_t e : s)
    if (e < 0 && !is_extent(e)) return false;
  return true;
}

/// a * b. Products beyond 2^63 - 1 are `too_large`, and a product of too many symbols is no_extent.
constexpr std::int64_t mul_extent(std::int64_t a, std::int64_t b) {
  if ((a | b) >> 31 == 0) return a * b;  // the usual case
  if (a >= 0 && b >= 0) return a == 0 || b <= too_large / a ? a * b : too_large;
  if (a == 0 || b == 0) return 0;
  if (!is_extent(a) || !is_extent(b)) return no_extent;
  const std::int64_t fa = a < 0 ? factor_of(a) : a, fb = b < 0 ? factor_of(b) : b;
  const unsigned ea = a < 0 ? exponents_of(a) : 0, eb = b < 0 ? exponents_of(b) : 0;
  for (int s = 0; s < max_symbols; ++s)
    if ((ea >> 2 * s & 3) + (eb >> 2 * s & 3) > 3) return no_extent;
  if (detail::digits_of(ea + eb) == 0) return no_extent;
  return fa > detail::max_factor / fb ? too_large : detail::dynamic_extent(fa * fb, ea + eb);
}
/// a / b, or no_extent if one is dynamic and the quotient is not whole for all values of the symbols.
constexpr std::int64_t div_extent(std::int64_t a, std::int64_t b) {
  if (a >= 0 && b > 0) return a / b;
  if (b == 0 || !is_extent(a) || !is_extent(b)) return no_extent;
  const std::int64_t fa = a < 0 ? factor_of(a) : a, fb = b < 0 ? factor_of(b) : b;
  const unsigned ea = a < 0 ? exponents_of(a) : 0, eb = b < 0 ? exponents_of(b) : 0;
  for (int s = 0; s < max_symbols; ++s)
    if ((ea >> 2 * s & 3) < (eb >> 2 * s & 3)) return no_extent;
  if (fa % fb != 0) return no_extent;
  return ea == eb ? fa / fb : detail::dynamic_extent(fa / fb, ea - eb);
}
/// a + b, or no_extent if the sum of two dynamic extents is not a multiple of one of them.
constexpr std::int64_t add_extent(std::int64_t a, std::int64_t b) {
  if (!is_dyn(a) && !is_dyn(b)) return b > 0 && a > too_large - b ? too_large : a + b;
  if (a == 0 || b == 0) return a == 0 ? b : a;
  if (!is_extent(a) || !is_extent(b) || a > 0 || b > 0 || exponents_of(a) != exponents_of(b)) return no_extent;
  const std::int64_t factor = factor_of(a) + factor_of(b);
  return factor > detail::max_factor ? too_large : detail::dynamic_extent(factor, exponents_of(a));
}
/// Is a <= b, whatever the values of the symbols?
constexpr bool at_most(std::int64_t a, std::int64_t b) { return a == b || (a >= 0 && b >= 0 && a <= b); }

/// The number of elements, which is dynamic if an extent is.
constexpr std::int64_t size(const shape& s) {
  std::int64_t n = 1;
  for (int i = 0; i < s.count; ++i) n = mul_extent(n, s.values[i]);
  return n;
}

/// The strides of a dense array, in elements.
constexpr shape row_major(const shape& s) {
  shape st = s;
  std::int64_t n = 1;
  for (int i = s.count - 1; i >= 0; --i) {
    st.values[i] = n;
    n = mul_extent(n, s.values[i]);
  }
  return st;
}
/// Are these the strides of a dense array, where extents of 1 may have any stride?
constexpr bool is_row_major(const shape& extents, const shape& strides) {
  const shape dense = row_major(extents);
  for (int i = 0; i < extents.rank(); ++i)
    if (extents[i] != 1 && strides[i] != dense[i]) return false;
  return true;
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
