// tokamax/numpy/manipulation/pad.hpp: elements added around an array: constants, copies of its edges, mirror images.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/manipulation.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>      // pad
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/lax/shapes/reverse.hpp>      // reverse
#include <tokamax/numpy/arange.hpp>            // index_list_of
#include <tokamax/numpy/statistics.hpp>        // mean
#include <tokamax/numpy/take.hpp>              // take

namespace tokamax {

/// What the added elements are.
enum class pad_mode : std::uint8_t {
  constant,     ///< `constant_values`
  edge,         ///< the nearest element
  linear_ramp,  ///< numbers between the nearest element and `end_values`
  maximum,      ///< the largest of the `stat_length` nearest elements; all of the axis by default
  mean,         ///< their mean
  minimum,      ///< the smallest
  reflect,      ///< the mirror image, without the edge itself
  symmetric,    ///< the mirror image, with the edge
  wrap,         ///< the other end
  empty         ///< zeros
};
/// Amounts before and after an axis, or values for them.
struct pad_width {
  std::int64_t before = 0, after = 0;
};
/// The options of pad, one value for all axes.
struct numpy_pad_options {
  pad_mode mode = pad_mode::constant;
  double before_value = 0, after_value = 0;  ///< constant_values or end_values
  std::int64_t stat_length = -1;             ///< -1: the whole axis
  bool odd = false;                          ///< mirror images of reflect and symmetric are twice the edge minus x
};

namespace detail {
/// Where each added or kept element comes from, for the modes that copy elements; n of them are there.
constexpr vec<std::int64_t> pad_sources(pad_mode mode, std::int64_t n, pad_width w) {
  vec<std::int64_t> from;
  for (std::int64_t i = -w.before; i < n + w.after; ++i) {
    std::int64_t k = i;
    if (mode == pad_mode::edge) {
      k = i < 0 ? 0 : i >= n ? n - 1 : i;
    } else if (mode == pad_mode::wrap) {
      k = (i % n + n) % n;
    } else {
      const std::int64_t period = mode == pad_mode::symmetric ? 2 * n : n == 1 ? 1 : 2 * (n - 1);
      k = (i % period + period) % period;
      if (k >= n) k = mode == pad_mode::symmetric ? period - 1 - k : period - k;
    }
    from.push_back(k);
  }
  return from;
}
/// Mirror images that are turned around the edge too. Each piece ends where the next mirror stands: a whole number of lengths
/// of the array from the last one.
constexpr array pad_odd(array x, int axis, pad_width w, bool with_edge, source_line l) {
  const std::int64_t skip = with_edge ? 0 : 1, apart = x.extent(axis) - skip;  // between mirrors
  for (int side = 0; side < 2; ++side) {
    std::int64_t left = side ? w.after : w.before;
    while (left > 0) {
      const std::int64_t n = x.extent(axis), most = apart < 1 ? 0 : (n - skip) / apart * apart;
      const std::int64_t take_now = most < 1 ? left : left < most ? left : most;
      const array edge = slice_in_dim(x, side ? n - 1 : 0, side ? n : 1, axis, l);
      shape s = x.shape();
      s[axis] = take_now;
      array image = broadcast_to(edge, s, l);
      if (most >= 1) {
        const std::int64_t from = side ? n - skip - take_now : skip;
        image = 2 * edge - reverse(slice_in_dim(x, from, from + take_now, axis, l), {axis}, l);
      }
      if (side)
        x = concatenate({x, image}, axis, l);
      else
        x = concatenate({image, x}, axis, l);
      left -= take_now;
    }
  }
  return x;
}
/// The numbers from `end` to the edge, which is not among them.
constexpr array pad_ramp(const array& edge, double end, std::int64_t count, int axis, bool before, source_line l) {
  const array real = in_floats(edge), stop = array(end, {real.dtype(), false, {}});
  shape s = real.shape();
  for (std::int64_t& e : s.values) e = e ? 1 : 0;
  for (int i = 0; i < s.rank(); ++i) s[i] = i == axis ? count : 1;
  array step = iota(real.dtype(), s, axis, l);
  if (!before) step = array(static_cast<double>(count - 1), {real.dtype(), false, {}}) - step;
  const array ramp = stop + step * ((real - stop) / array(static_cast<double>(count), {real.dtype(), false, {}}));
  return astype(is_floating(edge.dtype()) ? ramp : floor(ramp), edge.dtype());
}
/// The added elements of one side of an axis, for the modes that compute one value of several elements.
constexpr array pad_block(const array& x, int axis, std::int64_t count, bool before, const numpy_pad_options& o,
                          source_line l) {
  const std::int64_t n = x.extent(axis), near = o.stat_length < 0 || o.stat_length > n ? n : o.stat_length;
  shape s = x.shape();
  s[axis] = count;
  const reduce_options along{{axis}, true};
  const array part = slice_in_dim(x, before ? 0 : n - near, before ? near : n, axis, l);
  switch (o.mode) {
    case pad_mode::linear_ramp:
      return pad_ramp(slice_in_dim(x, before ? 0 : n - 1, before ? 1 : n, axis, l),
                      before ? o.before_value : o.after_value, count, axis, before, l);
    case pad_mode::maximum:
      return broadcast_to(max(part, along, l), s, l);
    case pad_mode::minimum:
      return broadcast_to(min(part, along, l), s, l);
    case pad_mode::mean: {
      array m = mean(part, along, l);
      if (!is_floating(x.dtype())) m = round(m);
      return broadcast_to(astype(m, x.dtype()), s, l);
    }
    default:
      return broadcast_to(array(before ? o.before_value : o.after_value, {x.dtype(), false, {}}), s, l);
  }
}
constexpr array pad_axis(const array& x, int axis, pad_width w, const numpy_pad_options& o, source_line l) {
  if (w.before == 0 && w.after == 0) return x;
  const bool image = o.mode == pad_mode::reflect || o.mode == pad_mode::symmetric;
  if (o.mode != pad_mode::constant && is_dyn(x.extent(axis)) && !is_known("pad", x, l)) return x;
  if (image && o.odd) return pad_odd(x, axis, w, o.mode == pad_mode::symmetric, l);
  if (image || o.mode == pad_mode::edge || o.mode == pad_mode::wrap)
    return take(x, index_list_of(pad_sources(o.mode, x.extent(axis), w)), axis, l);
  arrays parts;
  if (w.before) parts.push_back(pad_block(x, axis, w.before, true, o, l));
  parts.push_back(x);
  if (w.after) parts.push_back(pad_block(x, axis, w.after, false, o, l));
  return concatenate(parts, axis, l);
}
}  // namespace detail

/// x with elements added before and after each axis, one axis after the other.
///
/// shapes  widths has one pair for each axis, or one for all -> extent n -> before + n + after
/// dtypes  any; values are rounded to that of x
/// errors  "pad: widths" if there are not as many as axes, or one is negative; "pad: extent" of an empty axis whose elements
///         are asked for
/// source  jax.numpy.pad
constexpr array pad(const array& x, const vec<pad_width>& widths, numpy_pad_options o = {},
                    source_line l = source_line::current()) {
  const bool one = widths.count() == 1;
  if (!one && widths.count() != x.rank()) {
    reject(x, l, "pad: widths", message() << widths.count(), message("one for each axis of ") << x.type());
    return x;
  }
  if (o.mode == pad_mode::empty) o.mode = pad_mode::constant;
  const bool one_value = o.mode == pad_mode::constant && o.before_value == o.after_value && x.rank() > 0;
  array y = x;
  shape low, high;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const pad_width w = widths[one ? 0 : axis];
    low.push_back(w.before), high.push_back(w.after);
    const bool copies = o.mode != pad_mode::constant;
    if (w.before < 0 || w.after < 0) {
      reject(x, l, "pad: widths", message() << w.before << ", " << w.after, "0 or more");
      return x;
    }
    if (copies && y.extent(axis) == 0 && w.before + w.after > 0) {
      reject(x, l, "pad: extent", x.type(), message("elements along axis ") << axis);
      return x;
    }
    if (!one_value) y = detail::pad_axis(y, axis, w, o, l);
  }
  if (one_value) y = pad(x, array(o.before_value, {x.dtype(), false, {}}), low, high, {}, l);
  return y;
}

}  // namespace tokamax
