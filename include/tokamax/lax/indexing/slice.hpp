// tokamax/lax/indexing/slice.hpp: take a box out of an array, and its transpose, pad.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/indexing/dynamic_slice.hpp>  // dynamic_update_slice

namespace tokamax {

/// Attributes of slice, one entry an axis.
struct slice_options {
  shape start, limit, stride;
};
/// Attributes of pad, one entry an axis: elements added before, after and between (negative amounts remove).
struct pad_options {
  shape low, high, interior;
};

constexpr array slice(const array& x, const shape& start, const shape& limit, shape stride = {},
                      source_line l = source_line::current());
constexpr array pad(const array& x, const array& value, const shape& low, const shape& high, shape interior = {},
                    source_line l = source_line::current());

namespace detail {
/// The extent of n elements with `interior` others between each two of them.
constexpr std::int64_t spread(std::int64_t n, std::int64_t interior) {
  return interior == 0 ? n : add_extent(n, mul_extent(interior, sub_extent(n, 1)));
}
/// The offset of the first element in row-major order.
constexpr std::int64_t slice_offset(const shape& s, const shape& start) {
  const shape strides = row_major(s);
  std::int64_t offset = 0;
  for (int i = 0; i < start.rank(); ++i)
    if (start[i] != 0) offset = add_extent(offset, mul_extent(start[i], strides[i]));
  return offset;
}
}  // namespace detail

inline constexpr op slice_p{
    .name = "slice",
    .stablehlo = "stablehlo.slice",
    .algebra = {.linear = true},
    .memory = {.kind = op_kind::view,
               .strides =
                   [](const array_type&, const array_type&, const std::int64_t* w, std::int64_t& offset,
                      shape& strides) {
                     const auto [start, limit, stride] = unpack<slice_options>(w);
                     for (int i = 0; i < start.rank(); ++i) {
                       if (start[i] != 0) offset = add_extent(offset, mul_extent(start[i], strides[i]));
                       strides[i] = mul_extent(strides[i], stride[i]);
                     }
                     return offset != no_extent;  // of the copied operand it is one, as `infer` has seen
                   }},
    .cost = {.bytes = [](const call& c) { return 2 * bytes_of(c.type); }},
    .attributes = schema<slice_options>,
    .infer = [](const call& c) -> array_type {
      const auto [start, limit, stride] = c.attrs<slice_options>();
      array_type t = c[0].type();
      bool ok = start.rank() == t.shape.rank() && limit.rank() == start.rank() && stride.rank() == start.rank();
      for (int i = 0; ok && i < start.rank(); ++i) {
        const std::int64_t n = t.shape[i];
        if (start[i] == 0 && limit[i] == n && stride[i] == 1) continue;
        if (is_dyn(n) || is_dyn(start[i]) || is_dyn(limit[i])) {  // empty where the limit is below the start
          t.shape[i] = ceil_extent(sub_extent(limit[i], start[i]), stride[i]);
          if (!is_extent(start[i]) || !at_most(limit[i], n) || !is_extent(t.shape[i]))
            return c.fail("dynamic extent: slice", c[0].type(), message("a part inside of axis ") << i << " for all n");
          continue;
        }
        ok = start[i] >= 0 && start[i] <= limit[i] && limit[i] <= n && stride[i] > 0;
        if (ok) t.shape[i] = limit[i] == start[i] ? 0 : (limit[i] - start[i] - 1) / stride[i] + 1;
      }
      if (ok && is_dynamic(c[0].shape()) && detail::slice_offset(c[0].shape(), start) == no_extent)
        return c.fail("dynamic extent: slice", c[0].type(), "a start whose offset can be encoded");
      return ok ? t : c.fail("slice: bounds", message() << start << ":" << limit, message("inside ") << c[0].type());
    },
    .vjp = [](const call& c) -> arrays {
      const auto [start, limit, stride] = c.attrs<slice_options>();
      shape high, interior;
      bool known = true, adjacent = true;
      for (int i = 0; i < start.rank(); ++i) {
        const std::int64_t covered = detail::spread(c.out().extent(i), stride[i] - 1);
        high.push_back(detail::add_amounts(c[0].extent(i), detail::negated(detail::add_amounts(covered, start[i]))));
        interior.push_back(stride[i] - 1);
        known = known && !is_dyn(start[i]) && high[i] != no_extent;
        adjacent = adjacent && stride[i] == 1;
      }
      if (!known && adjacent) {
        arrays starts;
        for (std::int64_t s : start) starts.push_back(detail::extent_operand(s, {}));
        return dynamic_update_slice(zeros_like(c[0]), c.ct(), starts);
      }
      return pad(c.ct(), array(0.0, {c.ct().dtype(), false, {}}), start, high, interior);
    },
    .batch = [](const call& c) -> arrays {
      const auto [start, limit, stride] = c.attrs<slice_options>();
      auto lead = [](std::int64_t v, const shape& s) {
        shape r{v};
        for (std::int64_t e : s) r.push_back(e);
        return r;
      };
      return slice(c[0], lead(0, start), lead(c.batch_size, limit), lead(1, stride));
    },
    .simplify = [](const call& c) -> array { return c.type.shape == c[0].shape() ? c[0] : array(); },
};

inline constexpr op pad_p{
    .name = "pad",
    .stablehlo = "stablehlo.pad",
    .attributes = schema<pad_options>,
    .infer = [](const call& c) -> array_type {
      const auto [low, high, interior] = c.attrs<pad_options>();
      array_type t = c[0].type();
      bool ok = low.rank() == t.shape.rank() && high.rank() == low.rank() && interior.rank() == low.rank() &&
                c[1].rank() == 0;
      constexpr std::int64_t most = std::int64_t{1} << 60;  // sums of such numbers fit
      for (int i = 0; ok && i < low.rank(); ++i) {
        const std::int64_t n = t.shape[i];
        if (low[i] == 0 && high[i] == 0 && interior[i] == 0) continue;
        if (is_dyn(n) || is_dyn(low[i]) || is_dyn(high[i]) || is_dyn(interior[i])) {  // amounts cut, as far as there is
          t.shape[i] = detail::cut_at_zero(
              detail::add_amounts(detail::spread(n, interior[i]), detail::add_amounts(low[i], high[i])));
          if (is_dyn(low[i]) || is_dyn(interior[i]) || interior[i] < 0 || !is_extent(t.shape[i]))
            return c.fail("dynamic extent: pad", c[0].type(), message("known amounts before and between, axis ") << i);
          continue;
        }
        ok = n <= most && low[i] <= most && low[i] >= -most && high[i] <= most && high[i] >= -most &&
             interior[i] >= 0 && (n == 0 || interior[i] <= most / n);
        if (!ok) break;
        t.shape[i] = low[i] + high[i] + n + (n > 0 ? (n - 1) * interior[i] : 0);
        ok = interior[i] >= 0 && t.shape[i] >= 0;
      }
      return ok ? t : c.fail("pad: amounts", message() << low << high, message("one pair per axis of ") << c[0].type());
    },
    .vjp = [](const call& c) -> arrays {
      const auto [low, high, interior] = c.attrs<pad_options>();
      array gx;
      if (c.needs(0)) {
        // Undo with a negative pad, which also brings back elements that a negative amount cut off (as zeros).
        shape minus_low, minus_high, stride;
        for (int i = 0; i < low.rank(); ++i) {
          const std::int64_t inside = detail::spread(c[0].extent(i), interior[i]);
          minus_low.push_back(-low[i]);
          minus_high.push_back(
              detail::add_amounts(detail::add_amounts(inside, low[i]), detail::negated(c.ct().extent(i))));
          stride.push_back(interior[i] + 1);
        }
        const array wide = pad(c.ct(), array(0.0, {c.ct().dtype(), false, {}}), minus_low, minus_high);
        shape start;
        for (int i = 0; i < low.rank(); ++i) start.push_back(0);
        gx = slice(wide, start, wide.shape(), stride);
      }
      array gv;
      if (c.needs(1)) {
        const array total = reduce_sum(c.ct(), iota_axes(c.ct().rank()));
        const array inside = pad(full_like(c[0], 1), array(0.0, {c.ct().dtype(), false, {}}), low, high, interior);
        gv = total - reduce_sum(c.ct() * inside, iota_axes(c.ct().rank()));
      }
      return {gx, gv};
    },
    .jvp = [](const call& c) -> arrays {
      const auto [low, high, interior] = c.attrs<pad_options>();
      auto or_zero = [&](int i) { return c.tangents[i].exists() ? c.tangents[i] : zeros_like(c[i]); };
      return pad(or_zero(0), or_zero(1), low, high, interior);
    },
    .batch = [](const call& c) -> arrays {
      const auto [low, high, interior] = c.attrs<pad_options>();
      auto lead = [](const shape& s) {
        shape r{0};
        for (std::int64_t e : s) r.push_back(e);
        return r;
      };
      const array x = with_batch_axis(c, 0);
      if (!c.batched(1)) return pad(x, c[1], lead(low), lead(high), lead(interior));
      // A padding value for each batch entry: pad with zero, then select it outside the padded ones.
      const array y = pad(x, array(0.0, {x.dtype(), false, {}}), lead(low), lead(high), lead(interior));
      const array inside = pad(full(x.shape(), 1, bool_), array(false), lead(low), lead(high), lead(interior));
      return select(inside, y, broadcast_in_dim(c[1], y.shape(), {0}));
    },
    .kernels = kernels_of<pad_p>,
};

/// The elements start, start + stride and so on below limit, along each axis.
///
/// shapes  x -> ceil((limit - start) / stride) along each axis; 0 along an axis with dynamic bounds if limit < start
/// errors  "slice: bounds"; "dynamic extent: slice" for a part of a dynamic axis that is not inside of it for all n
/// source  jax.lax.slice
constexpr array slice(const array& x, const shape& start, const shape& limit, shape stride, source_line l) {
  if (stride.rank() == 0)
    for (int i = 0; i < start.rank(); ++i) stride.push_back(1);
  return bind(described<slice_p>(), {x}, slice_options{start, limit, stride}, l);
}

/// The slice [start, limit) of one axis.
/// errors  "slice_in_dim: axis", "slice: bounds"
/// source  jax.lax.slice_in_dim
constexpr array slice_in_dim(const array& x, std::int64_t start, std::int64_t limit, int axis,
                             source_line l = source_line::current()) {
  shape from, to = x.shape();
  for (int i = 0; i < x.rank(); ++i) from.push_back(0);
  axis = checked_axis("slice_in_dim: axis", axis, x, l);
  if (x.rank() == 0) return x;
  from[axis] = start;
  to[axis] = limit;
  return slice(x, from, to, {}, l);
}

/// `x` with `value` added around and between its elements. Negative amounts remove elements.
///
/// shapes  extent n -> low + n + (n - 1) * interior + high; of a dynamic extent no less than 0
/// errors  "pad: amounts"; "dynamic extent: pad" if low or interior are dynamic, or the result cannot be encoded
/// source  jax.lax.pad
constexpr array pad(const array& x, const array& value, const shape& low, const shape& high, shape interior,
                    source_line l) {
  if (interior.rank() == 0)
    for (int i = 0; i < low.rank(); ++i) interior.push_back(0);
  return bind(described<pad_p>(), {x, convert_element_type(value, x.dtype())}, pad_options{low, high, interior}, l);
}

}  // namespace tokamax
