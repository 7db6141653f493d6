// tokamax/lax/index.hpp: parts of arrays by brackets: x[0], x[range{1, 3}], x[{whole, -1}].
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/arguments.hpp>  // reject
#include <tokamax/lax/slice.hpp>       // slice

#include <algorithm>  // clamp
#include <concepts>   // integral
#include <limits>     // numeric_limits

namespace tokamax {

/// The positions start, start + step and so on before stop, along one axis. As in Python's slices, negative numbers count
/// from the end, and positions outside of the axis are left out.
struct range {
  static constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  std::int64_t start = 0, stop = end, step = 1;
};
/// A whole axis.
inline constexpr range whole{};

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
/// errors  "index: number of indices", "index: position" if there is none, "index: step" if it is not positive
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
    const bool entire = !single && r.start == 0 && r.stop == range::end && r.step == 1;  // also of a dynamic extent
    if (!entire && is_dyn(n)) {
      reject(*this, at.where, "index: dynamic extent", type_, "all of the axis");
      return *this;
    }
    if (single && (r.start < -n || r.start >= n)) {
      reject(*this, at.where, "index: position", message() << r.start,
             message("one of axis ") << axis << " of " << type_);
      return *this;
    }
    const std::int64_t from = r.start < 0 ? r.start + n : r.start, to = r.stop < 0 ? r.stop + n : r.stop;
    start.push_back(entire ? 0 : std::clamp(from, std::int64_t{0}, n));
    limit.push_back(entire ? n : single ? from + 1 : std::clamp(to, start[axis], std::max(start[axis], n)));
    stride.push_back(r.step);
    if (!single) kept.push_back(entire ? n : (limit[axis] - start[axis] + r.step - 1) / r.step);
  }
  const source_line nowhere{};
  return reshape(bind(described<slice_p>(), {*this}, slice_options{start, limit, stride}, at.where), kept, nowhere);
}

}  // namespace tokamax
