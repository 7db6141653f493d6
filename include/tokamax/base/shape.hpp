// tokamax/base/shape.hpp: a short list of extents, axes or other small integers, held by value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/error.hpp>          // error
#include <tokamax/base/extent.hpp>         // is_dyn, mul_extent

#include <concepts>          // integral
#include <cstdint>           // int64_t
#include <initializer_list>  // initializer_list
#include <string>            // to_string

namespace tokamax {

inline constexpr int max_rank = 16;

namespace detail {
[[noreturn]] void axis_outside(int axis, int rank);
[[noreturn]] void too_many_axes();
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void axis_outside(int axis, int rank) {
  throw error(error_kind::shape, "axis", std::to_string(axis), "an axis of rank " + std::to_string(rank));
}
TOKAMAX_COMPILED_ONCE void too_many_axes() {
  throw error(error_kind::shape, "rank", "more than " + std::to_string(max_rank) + " axes",
              "at most " + std::to_string(max_rank));
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

/// The number of an axis. Truth values are none.
template <class T>
concept axis_value = std::integral<T> && !std::same_as<T, bool>;

/// A list of axis numbers. A number is a list of one, so that `.axis = 0` and `flip(x, 0)` need no braces.
struct axes : shape {
  using shape::shape;
  constexpr axes() = default;
  constexpr axes(const shape& s) : shape(s) {}
  template <axis_value Number>
  constexpr axes(Number axis) : shape{static_cast<std::int64_t>(axis)} {}  // NOLINT: a number is a list
};
/// One axis or several, in the place of options that begin with axes: `sum(x, 0)` and `sum(x, {0, 1})`.
struct some_axes : axes {
  constexpr some_axes(const axes& list) : axes(list) {}  // NOLINT: so is a list
  template <axis_value First, axis_value... Rest>
  constexpr some_axes(First first, Rest... rest)  // NOLINT: and numbers
      : axes{static_cast<std::int64_t>(first), static_cast<std::int64_t>(rest)...} {}
};
/// For each axis of a result the axis of the operand that it is.
struct permutation : axes {
  using axes::axes;
  constexpr permutation() = default;
  constexpr permutation(const axes& a) : axes(a) {}
};

constexpr bool is_dynamic(const shape& s) {
  for (std::int64_t e : s)
    if (is_dyn(e)) return true;
  return false;
}

/// Can these be the extents of an array, whatever its size?
constexpr bool are_extents(const shape& s) {
  for (std::int64_t e : s)
    if (e < 0 && !is_extent(e)) return false;
  return true;
}

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
