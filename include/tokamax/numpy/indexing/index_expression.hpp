// tokamax/numpy/indexing/index_expression.hpp: what may stand between the parentheses of x(...): numbers, ranges, arrays, masks.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/indexing.cpp
#pragma once

#include <tokamax/lax/indexing/index.hpp>     // range
#include <tokamax/numpy/sorting/nonzero.hpp>  // nonzero: masks

namespace tokamax {

/// A new axis of extent 1, and all axes that no other index names.
inline constexpr struct newaxis_t {
} newaxis;
inline constexpr struct ellipsis_t {
} ellipsis;

/// A whole axis with a step: `every(2)` is range{0, end, 2}, and `every(-1)` is the axis in reverse order.
constexpr range every(std::int64_t step) { return {step < 0 ? range::end : 0, range::end, step}; }

/// A mask and how many of its elements are true, which a trace must know: `x(masked(m, 5))`. If there are fewer, the
/// missing ones lie outside of the array.
struct masked {
  const array& mask;
  std::int64_t size;
  constexpr masked(const array& m, std::int64_t n) : mask(m), size(n) {}
};

/// One index.
///
/// a number      removes its axis; a negative one counts from the end
/// a range       keeps the axis with the positions start, start + step, ... before stop, as Python's slices
/// integers      one axis becomes the axes of the array of indices; several such arrays broadcast together, as in NumPy
/// truth values  are the indices of their true elements, for as many axes as they have
/// newaxis       an axis of extent 1
/// ellipsis      all axes between those before and after it, whole
struct index_expression {
  enum class kind : std::uint8_t { none, number, range, array, new_axis, others };

  kind what = kind::none;
  tokamax::range positions = {};
  const tokamax::array* indices = nullptr;
  std::int64_t size = sized::counted;  ///< of a mask
  source_line where = {};

  constexpr index_expression() = default;
  template <std::integral Index>
  constexpr index_expression(Index i, source_line l = source_line::current())  // NOLINT: an index is a number
      : what(kind::number), positions{static_cast<std::int64_t>(i), 0, 1}, where(l) {}
  constexpr index_expression(const tokamax::range& r, source_line l = source_line::current())  // NOLINT: a range
      : what(kind::range), positions(r), where(l) {}
  constexpr index_expression(const tokamax::array& i, source_line l = source_line::current())  // NOLINT: an array
      : what(kind::array), indices(&i), where(l) {}
  constexpr index_expression(const masked& m, source_line l = source_line::current())  // NOLINT: a mask
      : what(kind::array), indices(&m.mask), size(m.size), where(l) {}
  constexpr index_expression(newaxis_t, source_line l = source_line::current())  // NOLINT: or a word
      : what(kind::new_axis), where(l) {}
  constexpr index_expression(ellipsis_t, source_line l = source_line::current())  // NOLINT
      : what(kind::others), where(l) {}
};
/// The array between the brackets of x[indices].
struct array_index {
  const array& indices;
  source_line where;
  template <std::derived_from<array> Indices>
  constexpr array_index(const Indices& i, source_line l = source_line::current())  // NOLINT: an index is an array
      : indices(i), where(l) {}
};
namespace detail {
inline constexpr index_expression no_index{};
}  // namespace detail

}  // namespace tokamax
