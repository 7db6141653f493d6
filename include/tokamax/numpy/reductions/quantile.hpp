// tokamax/numpy/reductions/quantile.hpp: quantiles and medians, also of the numbers that are not NaN.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (statistics need it)
// tested by tests/numpy/reductions.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>            // slice_in_dim
#include <tokamax/lax/sort.hpp>                      // sort
#include <tokamax/numpy/elementwise/predicates.hpp>  // isnan
#include <tokamax/numpy/manipulation/axes.hpp>       // squeeze
#include <tokamax/numpy/take_along_axis.hpp>         // take_along_axis

namespace tokamax {

/// What a quantile between two elements is.
enum class quantile_method : std::uint8_t { linear, lower, higher, midpoint, nearest };
/// The options of quantile and its relatives.
struct quantile_options {
  axes axis = every_axis;
  bool keepdims = false;
  quantile_method method = quantile_method::linear;
};

namespace detail {
/// x with the reduced axes joined as the last one.
constexpr array reduced_axes_last(const array& x, const axes& axis) {
  axes order = other_axes(x.rank(), axis);
  shape s;
  for (std::int64_t a : order) s.push_back(x.extent(static_cast<int>(a)));
  std::int64_t joined = 1;
  for (std::int64_t a : axis) joined = mul_extent(joined, x.extent(static_cast<int>(a))), order.push_back(a);
  s.push_back(joined);
  return reshape(transpose(x, order), s);
}
/// The elements of sorted rows at the places `at`, and their mixture.
///   sorted [rows..., n], place [q..., rows...] -> [q..., rows...]
constexpr array between(const array& sorted, const array& place, const array& last, quantile_method method) {
  const int rows = sorted.rank() - 1, lead = place.rank() - rows;
  axes order, back;  // the axes of quantiles behind those of rows, where the elements of a row are picked
  for (int i = 0; i < rows; ++i) order.push_back(lead + i);
  for (int i = 0; i < lead; ++i) order.push_back(i), back.push_back(rows + i);
  for (int i = 0; i < rows; ++i) back.push_back(i);
  shape count = leading(sorted), all = count;
  std::int64_t quantiles = 1;
  for (int i = 0; i < lead; ++i) quantiles *= place.extent(i), all.push_back(place.extent(i));
  count.push_back(quantiles);
  const array low = maximum(minimum(floor(place), last), 0.0), high = maximum(minimum(ceil(place), last), 0.0);
  const auto pick = [&](const array& at) {
    const array i = reshape(transpose(astype(at, i32), order), count);
    return transpose(reshape(take_along_axis(sorted, i, -1), all), back);
  };
  switch (method) {
    case quantile_method::lower:
      return pick(low);
    case quantile_method::higher:
      return pick(high);
    case quantile_method::nearest:
      return pick(round(place));
    case quantile_method::midpoint:
      return (pick(low) + pick(high)) * 0.5;
    default: {
      const array part = place - low;
      return pick(low) * (1.0 - part) + pick(high) * part;
    }
  }
}
constexpr array quantile_of(const array& given, const array& q_given, const quantile_options& o, bool skip_nan,
                            source_line l) {
  const axes axis = normalized(o.axis, given.rank());
  if (o.axis.count >= 0 && axis.rank() != o.axis.rank())
    reject(given, l, "quantile: axis", message() << o.axis, message("axes of ") << given.type());
  if (!is_floating(q_given.dtype())) reject(q_given, l, "quantile: q", q_given.type(), "a floating dtype");
  if (q_given.rank() > 1) reject(q_given, l, "quantile: q", q_given.type(), "at most one axis");
  const dtype type = floating_for(given.dtype()), wide = carrying(type);
  const array x = reduced_axes_last(astype(given, wide, l), axis);
  if (x.extent(-1) == 0) reject(given, l, "quantile: extent", given.type(), "elements along the axes");
  const std::int64_t n = x.extent(-1);
  const array sorted = sort(x, -1);  // NaN comes last
  array last(static_cast<double>(n - 1), {wide, false, {}}), unknown;
  if (skip_nan) {
    const array nans = isnan(x);
    last = astype(sum(logical_not(nans), {{-1}}), wide) - 1.0;
    unknown = tokamax::all(nans, {{-1}});
  } else {
    unknown = isnan(squeeze(slice_in_dim(sorted, n > 0 ? n - 1 : 0, n, -1), -1));
  }
  shape lead = q_given.shape(), rows;
  for (int i = 0; i + 1 < x.rank(); ++i) rows.push_back(x.extent(i));
  shape all = lead, thin = lead;
  for (std::int64_t e : rows) all.push_back(e), thin.push_back(1);
  const array q = reshape(astype(q_given, wide), thin);
  const array place = broadcast_to(q * last, all);
  array y = between(sorted, place, broadcast_to(last, all), o.method);
  y = select(unknown, array(not_a_number, {wide, false, {}}), y);
  if (o.keepdims) {
    shape kept = lead;
    for (int i = 0; i < given.rank(); ++i) kept.push_back(axis.contains(i) ? 1 : given.extent(i));
    y = reshape(y, kept);
  }
  return astype(y, type);
}
}  // namespace detail

/// The number that a share q of the elements does not exceed, 0 <= q <= 1.
///
///   y = sorted[floor(p)] (1 - t) + sorted[ceil(p)] t,   p = q (n - 1), t = p - floor(p)
///
/// shapes  q [] or [k] -> q.shape + x without `axis` (extent 1 with .keepdims)
/// dtypes  floats; integers give f32. A NaN among the elements gives NaN
/// errors  "quantile: axis", "quantile: q" of integers or more than one axis, "quantile: extent" of no elements
/// source  jax.numpy.quantile
constexpr array quantile(const array& x, const array& q, quantile_options o = {},
                         source_line l = source_line::current()) {
  return detail::quantile_of(x, q, o, false, l);
}
/// The same with q in percent.
/// source  jax.numpy.percentile
constexpr array percentile(const array& x, const array& q, quantile_options o = {},
                           source_line l = source_line::current()) {
  return detail::quantile_of(x, detail::in_floats(q) / 100.0, o, false, l);
}
/// The same of the numbers that are not NaN; NaN where all are.
/// source  jax.numpy.nanquantile, nanpercentile
constexpr array nanquantile(const array& x, const array& q, quantile_options o = {},
                            source_line l = source_line::current()) {
  return detail::quantile_of(x, q, o, true, l);
}
constexpr array nanpercentile(const array& x, const array& q, quantile_options o = {},
                              source_line l = source_line::current()) {
  return detail::quantile_of(x, detail::in_floats(q) / 100.0, o, true, l);
}
/// The middle of the sorted elements, or the mean of the two in the middle.
/// source  jax.numpy.median, nanmedian
template <class = void>
constexpr array median(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return detail::quantile_of(x, 0.5, {o.axis, o.keepdims, quantile_method::midpoint}, false, l);
}
constexpr array median(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return median(x, {.axis = axis}, l);
}
template <class = void>
constexpr array nanmedian(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return detail::quantile_of(x, 0.5, {o.axis, o.keepdims, quantile_method::midpoint}, true, l);
}
constexpr array nanmedian(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return nanmedian(x, {.axis = axis}, l);
}

}  // namespace tokamax
