// tokamax/numpy/indexing/plan.hpp: indices of every kind, brought to one form: the rows of a table and their places.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/indexing.cpp
#pragma once

#include <tokamax/core/context.hpp>                     // current_context
#include <tokamax/lax/shapes/reverse.hpp>               // for its users: reverse
#include <tokamax/numpy/indexing/index_expression.hpp>  // index_expression

#include <limits>  // numeric_limits

namespace tokamax {

/// What happens to indices outside of an axis: they become the nearest inside; they read as a fill value and are not
/// written (fill and drop are the same); or the program promises that there are none.
/// source  jax.lax.GatherScatterMode
enum class index_mode : std::uint8_t { by_default, clip, fill, drop, promise_in_bounds };

namespace detail {

/// The index of one axis of x, or a new axis.
struct axis_index {
  index_expression::kind what = index_expression::kind::range;
  std::int64_t start = 0, count = 1,
               step = 1;         ///< of ranges; of numbers the start, where negative ones count from the end
  std::int64_t limit = 0;        ///< of a dynamic range: all positions are below it
  array indices = {};            ///< integers
  int axis = -1;                 ///< of x; -1: a new one
  bool behind_ellipsis = false;  ///< is it the first one behind an ellipsis, which may stand for no axis?
};
/// All of them: the axes of x in order with new ones between them.
struct index_plan {
  vec<axis_index> list;
  int leading = 0;      ///< axes of x up to the last one that is not whole
  bool arrays = false;  ///< is one of the indices an array?
  source_line where = {};
  bool ok = true;
};

/// The positions that a range has on an axis of n elements: as Python's slices, which are cut to the axis.
constexpr axis_index range_on(const range& r, std::int64_t n) {
  if (is_dyn(n) || is_dyn(r.start) || is_dyn(r.stop)) {
    const axis_part p = r.step > 0 ? part_on(r, n) : axis_part{};
    return {.start = p.start, .count = p.count, .step = r.step, .limit = p.limit};
  }
  const auto place = [&](std::int64_t v, std::int64_t low, std::int64_t high) {
    if (v == range::end) return high;
    v = v < 0 ? v + n : v;
    return v < low ? low : v > high ? high : v;
  };
  axis_index a{.start = 0, .count = 0, .step = r.step};
  if (r.step == 0) return a;
  if (r.step > 0) {
    a.start = place(r.start, 0, n);
    const std::int64_t stop = place(r.stop, 0, n);
    a.count = stop > a.start ? (stop - a.start - 1) / r.step + 1 : 0;
  } else {
    a.start = place(r.start, -1, n - 1);
    const std::int64_t stop = r.stop == range::end ? -1 : place(r.stop, -1, n - 1);
    a.count = a.start > stop ? (a.start - stop - 1) / -r.step + 1 : 0;
  }
  return a;
}
/// Appends the index of axis `axis` of x.
constexpr void append_index(index_plan& p, const index_expression& e, const array& x, int& axis) {
  using kind = index_expression::kind;
  if (e.what == kind::new_axis) {
    p.list.push_back({.what = kind::new_axis});
    return;
  }
  if (e.what != kind::array) {
    axis_index a{.what = kind::number, .start = e.positions.start};
    if (e.what == kind::range) {
      if (e.positions.step == 0) reject(x, e.where, "index: step", "0", "another number");
      a = range_on(e.positions, x.extent(axis));
    } else if (is_dyn(x.extent(axis)) || is_dyn(a.start)) {
      const axis_part found = position_on(a.start, x.extent(axis));
      a.start = found.start, a.count = found.count;
    }
    if (a.count == no_extent) {
      reject(x, e.where, "index: dynamic extent", x.type(), message("a part inside of axis ") << axis << " for all n");
      p.ok = false;
      return;
    }
    a.axis = axis++;
    p.list.push_back(a);
    return;
  }
  p.arrays = true;
  arrays each{*e.indices};
  if (e.indices->dtype() == bool_) {
    for (int k = 0; k < e.indices->rank(); ++k)
      if (e.indices->extent(k) != x.extent(axis + k)) {
        reject(x, e.where, "index: mask", e.indices->type(), message("the extents of ") << x.type());
        p.ok = false;
        return;
      }
    each = nonzero(*e.indices, {e.size, -2147483648.0}, e.where);
  } else if (!is_integer(e.indices->dtype())) {
    reject(x, e.where, "index: dtype", e.indices->type(), "integers or bool");
    p.ok = false;
    return;
  }
  for (const array& i : each) p.list.push_back({.what = kind::array, .indices = i, .axis = axis++});
}
/// How many axes of x an index takes.
constexpr int axes_taken(const index_expression& e) {
  using kind = index_expression::kind;
  if (e.what == kind::array && e.indices->dtype() == bool_) return e.indices->rank();
  return e.what == kind::new_axis || e.what == kind::others || e.what == kind::none ? 0 : 1;
}
/// errors  "index: number of indices", "index: ellipsis" if there are two, and those of single indices
constexpr index_plan plan_of(const array& x, const index_expression* const* list, int n) {
  using kind = index_expression::kind;
  index_plan p;
  p.where = list[0]->where;
  int taken = 0, ellipses = 0;
  while (n > 0 && list[n - 1]->what == kind::none) --n;
  for (int k = 0; k < n; ++k) taken += axes_taken(*list[k]), ellipses += list[k]->what == kind::others;
  if (taken > x.rank() || ellipses > 1) {
    if (ellipses > 1)
      reject(x, p.where, "index: ellipsis", message() << ellipses, "at most one");
    else
      reject(x, p.where, "index: number of indices", message() << taken,
             message("at most one per axis of ") << x.type());
    p.ok = false;
    return p;
  }
  int axis = 0;
  for (int k = 0; k < n && p.ok; ++k) {
    if (list[k]->what != kind::others) {
      const int before = p.list.count();
      append_index(p, *list[k], x, axis);
      if (p.list.count() > before) p.list[before].behind_ellipsis = k > 0 && list[k - 1]->what == kind::others;
      p.leading = axis;
      continue;
    }
    for (int i = taken; i < x.rank(); ++i, ++axis)
      p.list.push_back({.start = 0, .count = x.extent(axis), .limit = x.extent(axis), .axis = axis});
  }
  return p;
}

/// Where the elements are: the place of each in the table whose rows are the leading axes, the lowest number if it has none.
struct index_places {
  array rows;    ///< i32 or i64, with the axes of the result that come of leading axes
  shape kept;    ///< the extents of those axes, then of the others
  array inside;  ///< bool like `rows`; does not exist if all are
};

/// The dtype of places in the table of so many leading axes: i64 where i32 cannot tell its rows apart.
constexpr dtype place_type(const array& x, int leading) {
  std::int64_t rows = 1;
  for (int i = 0; i < leading; ++i) rows = mul_extent(rows, x.extent(i));
  return rows > most_indices ? i64 : i32;
}
/// Integers in such a dtype.
constexpr array place_in(dtype type, const array& indices, source_line l) {
  return type == i64 ? astype(indices, i64, l) : integers_in_i32(indices, l);
}
/// The lowest number of such a dtype, which is no place.
constexpr array no_place(dtype type) {
  return array(type == i64 ? std::numeric_limits<std::int64_t>::min() : -most_indices - 1, {type, false, {}});
}
/// The shape to which the arrays broadcast.
constexpr shape shape_of_arrays(const index_plan& p, const array& x) {
  shape s;
  bool ok = true;
  for (const axis_index& a : p.list)
    if (a.what == index_expression::kind::array) s = broadcast_shapes(s, a.indices.shape(), ok);
  if (!ok) reject(x, p.where, "index: arrays", message() << s, "shapes that broadcast together");
  return s;
}
/// Adds index a, of which `i` are the positions with the axes of the result, to the places.
constexpr void add_positions(index_places& out, const axis_index& a, array i, const array& x, std::int64_t stride,
                             index_mode mode, location where) {
  const auto number = [type = i.dtype()](std::int64_t v) { return array(v, {type, false, {}}); };
  const std::int64_t n = x.extent(a.axis);
  if (a.what != index_expression::kind::range) {
    const array lowest = no_place(i.dtype());  // marks the missing elements of masks
    i = select(logical_and(i < number(0), i != lowest), i + number(n), i);
    if (!std::is_constant_evaluated() && current_context.index_observer)
      current_context.index_observer(i, a.axis, n, where);
    if (mode == index_mode::clip) {
      i = maximum(minimum(i, number(n - 1)), number(0));
    } else if (mode != index_mode::promise_in_bounds) {
      const array inside = logical_and(i >= number(0), i < number(n));
      if (out.inside.exists())
        out.inside = logical_and(out.inside, inside);
      else
        out.inside = inside;
      i = select(inside, i, number(0));
    }
  }
  out.rows = out.rows + i * number(stride);
}
/// The positions of one index with the axes of the result: a range has them along axis `place`, an array along `common`
/// axes from `place` on, of which it may lack the first ones.
constexpr array positions_of(const axis_index& a, int place, int rank, int common, dtype type) {
  const array start(a.start, {type, false, {}});
  shape s;
  if (a.what == index_expression::kind::range) {
    for (int d = 0; d < rank; ++d) s.push_back(d == place ? a.count : 1);
    return iota(type, s, place) * array(a.step, {type, false, {}}) + start;
  }
  if (a.what == index_expression::kind::number) return start;
  for (int d = 0; d < rank; ++d) {
    const int of_array = d - place - (common - a.indices.rank());
    s.push_back(of_array >= 0 && of_array < a.indices.rank() ? a.indices.extent(of_array) : 1);
  }
  return reshape(place_in(type, a.indices, {}), s);
}
/// The places of the elements that a plan names. With arrays, numbers count as arrays without axes; the axes of the arrays
/// stand where the first of them is, or in front if an axis that is kept, or an ellipsis, lies between them.
constexpr index_places places_of_plan(const index_plan& p, const array& x, index_mode mode) {
  using kind = index_expression::kind;
  const shape common = shape_of_arrays(p, x);
  const auto advanced = [&](const axis_index& a) {
    return p.arrays && (a.what == kind::array || a.what == kind::number);
  };
  int first = -1, last = -1, apart = 0, kept_before = 0, kept_axes = 0;
  for (int k = 0; k < p.list.count(); ++k) {
    const axis_index& a = p.list[k];
    if (a.axis >= p.leading) continue;
    if (advanced(a)) {
      if (first < 0) first = k, kept_before = kept_axes;
      if (last >= 0 && (k != last + 1 || a.behind_ellipsis)) apart = 1;
      last = k;
    } else if (a.what != kind::number) {
      ++kept_axes;
    }
  }
  if (apart) kept_before = 0;
  const int rank = kept_axes + common.rank();
  const dtype type = place_type(x, p.leading);
  index_places out{array(0, {type, false, {}}), {}, {}};
  shape result;
  for (int i = 0; i < rank; ++i) result.push_back(1);
  for (int i = 0; i < common.rank(); ++i) result[kept_before + i] = common[i];
  const shape strides = row_major([&] {
    shape s;
    for (int i = 0; i < p.leading; ++i) s.push_back(x.extent(i));
    return s;
  }());
  int kept = 0;
  for (const axis_index& a : p.list) {
    if (a.axis >= p.leading) continue;
    const bool is_kept = a.what == kind::range || a.what == kind::new_axis;
    const int place = kept < kept_before ? kept : kept + common.rank();
    if (is_kept) ++kept;
    if (a.what == kind::new_axis) continue;
    if (a.what == kind::range) result[place] = a.count;
    const array i = positions_of(a, a.what == kind::range ? place : kept_before, rank, common.rank(), type);
    add_positions(out, a, i, x, strides[a.axis], mode, p.where);
  }
  out.rows = broadcast_to(out.rows, result);
  if (out.inside.exists()) {
    out.inside = broadcast_to(out.inside, result);
    out.rows = select(out.inside, out.rows, no_place(type));
  }
  out.kept = result;
  for (int i = p.leading; i < x.rank(); ++i) out.kept.push_back(x.extent(i));
  return out;
}
/// x with its leading axes joined.
constexpr array rows_of(const array& x, int leading) { return joined_rows(x, leading); }

}  // namespace detail

}  // namespace tokamax
