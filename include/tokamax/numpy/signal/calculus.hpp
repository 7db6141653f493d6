// tokamax/numpy/signal/calculus.hpp: numerical calculus on samples: convolve, correlate, interp, trapezoid, gradient.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (signals need it)
// tested by tests/numpy/signal.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>           // pad, slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>       // concatenate
#include <tokamax/lax/shapes/reverse.hpp>           // reverse
#include <tokamax/lax/shapes/transpose.hpp>         // swapaxes
#include <tokamax/lax/windows/conv.hpp>             // conv_general_dilated
#include <tokamax/numpy/floor_divide.hpp>           // remainder
#include <tokamax/numpy/reductions/cumulative.hpp>  // diff
#include <tokamax/numpy/sorting/order.hpp>          // searchsorted
#include <tokamax/numpy/take.hpp>                   // take

namespace tokamax {

/// Which part of a convolution is kept: all, as many as the longer operand in the middle, or those without edges.
enum class convolve_mode : std::uint8_t { full, same, valid };

namespace detail {
/// The way of long sequences: parts of the result are channels of one convolution with a channel in each group, so that vectors
/// hold places of different parts. Each part reads the end of the part before it too, which must be as long as that.
struct convolve_parts {
  static constexpr std::int64_t channels = 32, most_terms = 512;  // more terms would need a sum in pieces
  std::int64_t count = 0;                                         // 0: too short for that

  constexpr convolve_parts(const array& a, const array& b) {
    const std::int64_t n = a.extent(0), m = b.extent(0);
    if (a.dtype() != f32 || b.dtype() != f32 || n < 0 || m < 0 || m > most_terms) return;
    const std::int64_t fit = (n + m - 1) / (m > 64 ? m : 64);
    count = fit / channels * channels;
    if (count > 32 * channels) count = 32 * channels;
  }
  constexpr array convolved(const array& a, const array& b, source_line l) const {
    const std::int64_t n = a.extent(0), m = b.extent(0), all = n + m - 1, part = (all + count - 1) / count;
    const array zero(0.0, {f32, false, {}});
    const array long_rows =
        reshape(pad(a, zero, {m - 1}, {(count + 1) * part - n - (m - 1)}, {}, l), {count + 1, part}, l);
    const array begin = slice_in_dim(long_rows, 0, count, 0, l), next = slice_in_dim(long_rows, 1, count + 1, 0, l);
    const array read = concatenate({begin, slice_in_dim(next, 0, m - 1, 1, l)}, 1, l);
    const std::int64_t groups = count / channels, row = part + m - 1;
    const array image =
        reshape(swapaxes(reshape(read, {groups, channels, row}, l), 1, 2, l), {1, groups, row, channels}, l);
    const array window = broadcast_to(reshape(reverse(b, {0}, l), {1, m, 1, 1}, l), {1, m, 1, channels}, l);
    const conv_options o{.strides = {1, 1},
                         .low = {0, 0},
                         .high = {0, 0},
                         .lhs_dilation = {1, 1},
                         .rhs_dilation = {1, 1},
                         .feature_groups = static_cast<int>(channels)};
    const array y = reshape(conv_general_dilated(image, window, o, l), {groups, part, channels}, l);
    return slice_in_dim(reshape(swapaxes(y, 1, 2, l), {count * part}, l), 0, all, 0, l);
  }
};
/// The floating dtype that two operands promote to; none if there is none, which is an error.
constexpr dtype common_float(const op& o, const array& a, const array& b, source_line l) {
  const promoted p = promote({a.dtype(), a.type().weak}, {b.dtype(), b.type().weak});
  if (p.type != dtype::none) return floating_for(p.type);
  const array both[] = {a, b};
  refuse_promotion(o, both, 2, a.dtype(), b.dtype(), l);
  return dtype::none;
}
/// y[k] = sum over i of a[i] b[k - i], as a sum of moved copies of the longer operand.
constexpr array convolve_full(const array& a, const array& b, source_line l) {
  const std::int64_t n = a.extent(0), m = b.extent(0);
  if (const convolve_parts parts(a, b); parts.count > 0) return parts.convolved(a, b, l);
  const array rows = iota(i32, {n + m - 1, m}, 0, l) - iota(i32, {n + m - 1, m}, 1, l);
  const array last(n - 1, {i32, false, {}}), zero(0, {i32, false, {}});
  const array inside = logical_and(rows >= zero, rows <= last);
  const array windows = take(a, minimum(maximum(rows, zero), last), 0, l);
  return sum(select(inside, windows, zeros_like(windows)) * located(expand_dims(b, 0), l), {{1}});
}
}  // namespace detail

/// The sum of products of one sequence with the other one in reverse order, at every overlap.
///
///   y[k] = sum over i of x[i] v[k - i]
///
/// shapes  [n], [m] -> [n + m - 1], [max(n, m)] or [max(n, m) - min(n, m) + 1]
/// dtypes  promoted to one; integers become f32; 16-bit floats are multiplied and summed in f32
/// errors  "convolve: operand" of other than one axis, or of no elements
/// source  jax.numpy.convolve
constexpr array convolve(const array& x, const array& v, convolve_mode mode = convolve_mode::full,
                         source_line l = source_line::current()) {
  for (const array* a : {&x, &v})
    if (a->rank() != 1 || a->extent(0) == 0) {
      reject(*a, l, "convolve: operand", a->type(), "one axis with elements");
      return x;
    }
  const bool swapped = x.extent(0) < v.extent(0);
  const dtype type = detail::common_float(described<mul_p>(), x, v, l);
  if (type == dtype::none) return x;
  const array longer = astype(swapped ? v : x, carrying(type)), shorter = astype(swapped ? x : v, carrying(type));
  const std::int64_t n = longer.extent(0), m = shorter.extent(0);
  const array y = astype(detail::convolve_full(longer, shorter, l), type);
  if (mode == convolve_mode::full) return y;
  if (mode == convolve_mode::same) return slice_in_dim(y, (m - 1) / 2, (m - 1) / 2 + n, 0);
  return slice_in_dim(y, m - 1, n, 0);
}
/// The same without the reverse order: y[k] = sum over i of x[i + k] v[i].
/// errors  "convolve: operand"
/// source  jax.numpy.correlate
constexpr array correlate(const array& x, const array& v, convolve_mode mode = convolve_mode::valid,
                          source_line l = source_line::current()) {
  if (x.rank() == 1 && v.rank() == 1 && x.extent(0) < v.extent(0))
    return reverse(convolve(v, reverse(x, {0}), mode, l), {0});
  if (v.rank() != 1) return convolve(x, v, mode, l);
  return convolve(x, reverse(v, {0}), mode, l);
}

/// What interp gives outside of the samples: by default the value of the nearest one.
struct interp_options {
  array left = {}, right = {};  ///< values outside
  double period = 0;            ///< of the samples' positions, if it is not 0
};
/// The line through neighbouring samples (xp, fp), at x.
///
/// shapes  x [...], xp and fp [n], xp increasing -> [...]
/// dtypes  floats; integers become f32
/// errors  "interp: samples" if xp and fp have not one axis of equal extent
/// source  jax.numpy.interp
constexpr array interp(const array& x, const array& xp, const array& fp, const interp_options& o = {},
                       source_line l = source_line::current()) {
  if (xp.rank() != 1 || xp.shape() != fp.shape() || xp.extent(0) == 0) {
    reject(xp, l, "interp: samples", fp.type(), message("as many values as positions ") << xp.type());
    return x;
  }
  const dtype type = detail::common_float(described<sub_p>(), x, xp, l);
  if (type == dtype::none) return x;
  array at = astype(x, type), px = astype(xp, type), py = detail::in_floats(fp);
  if (o.period != 0) {
    const double period = o.period < 0 ? -o.period : o.period;
    const array p = detail::number_like(at, period);
    at = remainder(at, p), px = remainder(px, p);
    const arrays sorted = sort(arrays{px, py}, 0);
    const std::int64_t n = px.extent(0);
    px = concatenate({slice_in_dim(sorted[0], n - 1, n, 0) - p, sorted[0], slice_in_dim(sorted[0], 0, 1, 0) + p}, 0);
    py = concatenate({slice_in_dim(sorted[1], n - 1, n, 0), sorted[1], slice_in_dim(sorted[1], 0, 1, 0)}, 0);
  }
  const std::int64_t n = px.extent(0);
  const array one(1, {i32, false, {}}), last(n - 1, {i32, false, {}});
  const array high = maximum(minimum(searchsorted(px, at, search_side::right, l), last), minimum(one, last));
  const array low = maximum(high - one, array(0, {i32, false, {}}));
  const array x0 = take(px, low), y0 = take(py, low), dx = take(px, high) - x0, dy = take(py, high) - y0;
  const array flat = dx == 0.0, slope = (at - x0) / select(flat, ones_like(dx), dx);
  array y = select(flat, y0, y0 + slope * dy);
  const array first = take(px, array(0, {i32, false, {}})), end = take(px, last);
  if (o.period != 0) return y;
  array before = take(py, array(0, {i32, false, {}})), behind = take(py, last);
  if (o.left.exists()) before = astype(o.left, y.dtype());
  if (o.right.exists()) behind = astype(o.right, y.dtype());
  y = select(at < first, before, y);
  return select(at > end, behind, y);
}

/// The integral of samples by the trapezoidal rule along one axis, at distances dx, or at positions x [n] or x like y.
///
///   sum over i of (y[i] + y[i + 1]) / 2 (x[i + 1] - x[i])
///
/// dtypes  the promotion of y and x, floating; 16-bit floats are summed in f32
/// errors  "trapezoid: axis"
/// source  jax.numpy.trapezoid
constexpr array trapezoid(const array& y, const array& x, int axis = -1, source_line l = source_line::current()) {
  axis = checked_axis("trapezoid: axis", axis, y, l);
  const dtype type = detail::common_float(described<mul_p>(), y, x, l);
  if (type == dtype::none) return y;
  const array f = astype(moveaxis(y, axis, -1), carrying(type));
  array dx = astype(x, carrying(type));
  if (x.rank() > 1) dx = moveaxis(dx, axis, -1);
  if (dx.rank() > 0) dx = diff(dx, 1, -1, l);
  const std::int64_t n = f.extent(-1);
  const array pairs = slice_in_dim(f, n < 1 ? 0 : 1, n, -1) + slice_in_dim(f, 0, n < 1 ? 0 : n - 1, -1);
  return astype(0.5 * sum(pairs * located(dx, l), {{-1}}), type);
}
/// A scalar array is the distance of all samples.
constexpr array trapezoid(const array& y, double dx = 1, int axis = -1, source_line l = source_line::current()) {
  return trapezoid(y, array(dx), axis, l);
}

/// The slope along one axis of samples at equal distances: central differences, one-sided ones at both ends.
///
/// errors  "gradient: axis", "gradient: extent" of fewer than two samples
/// source  jax.numpy.gradient of one axis
constexpr array gradient(const array& f, int axis, double distance = 1, source_line l = source_line::current()) {
  axis = checked_axis("gradient: axis", axis, f, l);
  const std::int64_t n = f.rank() ? f.extent(axis) : 0;
  if (n < 2) {
    reject(f, l, "gradient: extent", f.type(), message("2 samples or more along axis ") << axis);
    return f;
  }
  const array y = detail::in_floats(f);
  const auto part = [&](std::int64_t from, std::int64_t to) { return slice_in_dim(y, from, to, axis); };
  const array inner_part = (part(2, n) - part(0, n - 2)) * 0.5;
  const array g = concatenate({part(1, 2) - part(0, 1), inner_part, part(n - 1, n) - part(n - 2, n - 1)}, axis);
  return g / detail::number_like(g, distance);
}
/// Along all axes, one array each.
constexpr arrays gradient(const array& f, source_line l = source_line::current()) {
  arrays out;
  for (int axis = 0; axis < f.rank(); ++axis) out.push_back(gradient(f, axis, 1, l));
  return out;
}

}  // namespace tokamax
