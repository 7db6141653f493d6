// tokamax/lax/indexing/index.hpp: parts of arrays by brackets: x[0], x[range{1, 3}], x[{whole, -1}].
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/arguments.hpp>      // reject
#include <tokamax/lax/indexing/slice.hpp>  // slice_options, slice_p

#include <concepts>  // integral
#include <limits>    // numeric_limits

namespace tokamax {

/// The positions start, start + step and so on before stop, along one axis. As in Python's slices, negative numbers count
/// from the end, and positions outside of the axis are left out.
struct range {
  static constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  std::int64_t start = 0, stop = end, step = 1;
};
/// A whole axis.
inline constexpr range whole{};

namespace detail {
/// A part of an axis: `count` positions from `start` on, all below `limit`. The count is no_extent if there is no such part.
struct axis_part {
  std::int64_t start = 0, limit = 0, count = no_extent;
};
/// The end of a range, cut to an axis of n elements: min(v, n), or n - |v|, as far as there is.
constexpr std::int64_t bound_on(std::int64_t v, std::int64_t n) {
  if (v == range::end) return n;
  if (comes_of_extent(v) && !is_extent(v)) return no_extent;
  if (v < 0 && !is_dyn(v)) return sub_extent(n, -v);
  return at_most(v, n) ? v : add_extent(n, negated(sub_extent(n, v)));
}
/// The positions of a range with a positive step. Numbers and n may be dynamic extents.
constexpr axis_part part_on(const range& r, std::int64_t n) {
  axis_part p;
  p.limit = bound_on(r.stop, n);
  p.start = r.start >= 0 && is_dyn(n) ? r.start : bound_on(r.start, n);  // behind the end there is nothing
  const std::int64_t length = sub_extent(p.limit, p.start);
  if (p.start == no_extent || p.limit == no_extent || length == no_extent) return {};
  if (!is_dyn(length) && !is_dyn(p.limit) && !is_dyn(p.start)) p.limit = p.start + length;
  p.count = ceil_extent(length, r.step);
  return p;
}
/// One position, where negative numbers count from the end.
constexpr axis_part position_on(std::int64_t v, std::int64_t n) {
  const bool from_end = v < 0 && !is_dyn(v);
  if ((comes_of_extent(v) && !is_extent(v)) || !at_most(from_end ? -v : add_extent(v, 1), n)) return {};
  const std::int64_t at = from_end ? sub_extent(n, -v) : v;
  return {at, add_extent(at, 1), 1};
}
}  // namespace detail

/// The index of one axis: a position, which removes the axis, or a range.
struct index_of_axis {
  range positions;
  bool single = false;
  template <std::integral Index>
  constexpr index_of_axis(Index i)
      : positions{static_cast<std::int64_t>(i), 0, 1}, single(true) {}  // NOLINT: an index is a number
  constexpr index_of_axis(const range& r) : positions(r) {}             // NOLINT: or a range
};

/// The content of the brackets: one index for each axis, from the first axis on. Further axes are kept whole.
struct index_list {
  std::initializer_list<index_of_axis> list;
  index_of_axis one = 0;
  bool single = false;
  location where;
  template <std::convertible_to<index_of_axis> Index>
  constexpr index_list(const Index& i, source_line l = source_line::current())
      : one(i), single(true), where(l) {}  // NOLINT
  constexpr index_list(std::initializer_list<index_of_axis> each, source_line l = source_line::current())
      : list(each), where(l) {}
  constexpr std::size_t count() const { return single ? 1 : list.size(); }
  constexpr const index_of_axis& operator[](std::size_t k) const { return single ? one : list.begin()[k]; }
};

/// The part of an array at some positions.
///
/// shapes  x [e, ...]: a number removes its axis, a range keeps an axis with one entry for each position
/// errors  "index: number of indices", "index: position" if there is none, "index: step" if it is not positive, "index: dynamic
///         extent" if there is not such a part for all n
/// source  indexing of jax.numpy arrays by numbers and slices
constexpr array array::operator[](const index_list& at) const {
  tokamax::shape start, limit, stride, kept;
  if (at.count() > static_cast<std::size_t>(rank())) {
    reject(*this, at.where, "index: number of indices", message() << at.count(),
           message("at most one per axis of ") << type_);
    return *this;
  }
  for (int axis = 0; axis < rank(); ++axis) {
    const std::int64_t n = extent(axis);
    range r = whole;
    bool single = false;
    if (static_cast<std::size_t>(axis) < at.count()) {
      r = at[static_cast<std::size_t>(axis)].positions;
      single = at[static_cast<std::size_t>(axis)].single;
    }
    if (r.step <= 0) {
      reject(*this, at.where, "index: step", message() << r.step, "a positive step");
      return *this;
    }
    const detail::axis_part part = single ? detail::position_on(r.start, n) : detail::part_on(r, n);
    if (part.count == no_extent) {
      if (single && !is_dyn(n))
        reject(*this, at.where, "index: position", message() << r.start,
               message("one of axis ") << axis << " of " << type_);
      else
        reject(*this, at.where, "index: dynamic extent", type_,
               message("a part inside of axis ") << axis << " for all n");
      return *this;
    }
    start.push_back(part.start);
    limit.push_back(part.limit);
    stride.push_back(r.step);
    if (!single) kept.push_back(part.count);
  }
  const source_line nowhere{};
  return reshape(bind(described<slice_p>(), {*this}, slice_options{start, limit, stride}, at.where), kept, nowhere);
}

}  // namespace tokamax
