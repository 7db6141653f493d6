// tokamax/stablehlo/rules/reduction_rules.hpp: rules of reductions with any body: of axes, of windows, and select_and_scatter.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>      // slice, pad
#include <tokamax/lax/reduce.hpp>              // reduce_max_p
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/stablehlo/rules/bodies.hpp>  // combiner_of

#include <span>  // span

namespace tokamax::stablehlo::detail {

/// Combines the values of two halves of a list: the body on all their elements.
inline values combined(const rule_call& c, int body, const values& a, const values& b) {
  values both = a;
  both.insert(both.end(), b.begin(), b.end());
  return run_on_elements(c, body, both, a.size());
}
/// A part of each value along one axis.
inline values part_along(const values& list, int axis, std::int64_t from, std::int64_t to) {
  values out;
  for (const value& v : list)
    out.push_back(each_part([&](const array& x) { return slice_in_dim(x, from, to, axis); }, v));
  return out;
}
/// Each value with the extents s.
inline values broadcast_all(const values& scalars, const shape& s) {
  values out;
  for (const value& v : scalars) out.push_back(each_part([&](const array& x) { return broadcast_to(x, s); }, v));
  return out;
}

/// The reduction of one operand for which there is an op; a value that does not exist for other bodies.
inline value known_reduction(const rule_call& c, const axes& sorted) {
  if (c.count() != 2 || c.is_complex()) return {};
  const std::string how = combiner_of(c.body(0));
  const array &x = c[0], &init = c[1];
  const auto reduce = [&](const op& o) { return tokamax::detail::reduce(o, x, {.axis = sorted}, {}); };
  const bool truth = x.dtype() == bool_;
  if (how == "stablehlo.add" && !truth) return {reduce_sum(x, sorted) + init, {}};
  const bool largest = how == "stablehlo.maximum", smallest = how == "stablehlo.minimum";
  if (truth && (how == "stablehlo.or" || how == "stablehlo.add" || largest))
    return {logical_or(reduce(described<reduce_or_p>()), init), {}};
  if (truth && (how == "stablehlo.and" || how == "stablehlo.multiply" || smallest))
    return {logical_and(reduce(described<reduce_and_p>()), init), {}};
  if (truth || x.size() == 0) return {};
  if (largest) return {maximum(reduce(described<reduce_max_p>()), init), {}};
  if (smallest) return {minimum(reduce(described<reduce_min_p>()), init), {}};
  return {};
}
/// A reduction of one or several operands by any body, in a tree.
inline values reduced(const rule_call& c) {
  const int inputs = c.count() / 2;
  if (inputs < 1 || c.count() != 2 * inputs)
    refuse(c.op, std::to_string(c.count()) + " operands", "inputs and as many initial values");
  const shape whole = c.at(0).re.shape();
  const axes which = c.axes_of("dimensions", whole.rank());
  axes sorted;
  for (int i = 0; i < whole.rank(); ++i)
    if (which.contains(i)) sorted.push_back(i);
  if (const value known = known_reduction(c, sorted); known.re.exists()) return {known};
  values y(c.in.begin(), c.in.begin() + inputs);
  const values init(c.in.begin() + inputs, c.in.end());
  for (const value& v : y)
    if (v.re.shape() != whole) refuse(c.op, "operands of several shapes", "one shape");
  shape rest;
  bool none = false;
  for (int i = 0; i < whole.rank(); ++i) {
    if (!which.contains(i)) rest.push_back(whole[i]);
    none = none || (which.contains(i) && whole[i] == 0);
  }
  if (none) return broadcast_all(init, rest);
  // A tree whose shape the extents alone fix.
  for (std::int64_t a : sorted) {
    const auto axis = static_cast<int>(a);
    for (std::int64_t n = whole[axis]; n > 1; n = n / 2 + n % 2) {
      values pairs = combined(c, 0, part_along(y, axis, 0, n / 2), part_along(y, axis, n / 2, n / 2 * 2));
      if (n % 2) {
        const values last = part_along(y, axis, n - 1, n);
        for (std::size_t k = 0; k < pairs.size(); ++k) {
          pairs[k].re = concatenate({pairs[k].re, last[k].re}, axis);
          if (pairs[k].is_complex()) pairs[k].im = concatenate({pairs[k].im, last[k].im}, axis);
        }
      }
      y = std::move(pairs);
    }
  }
  for (value& v : y) v = each_part([&](const array& x) { return reshape(x, rest); }, v);
  return combined(c, 0, broadcast_all(init, rest), y);
}

/// The windows that an operation has, one number for each axis.
struct window_numbers {
  shape window, stride, low, high, base, dilation;
};
/// Reads the attributes of windows.
inline window_numbers windows_of(const rule_call& c, int rank) {
  window_numbers w{c.list("window_dimensions", rank, 1), c.list("window_strides", rank, 1),  {}, {},
                   c.list("base_dilations", rank, 1),    c.list("window_dilations", rank, 1)};
  const std::vector<std::int64_t> padding = c.integers("padding");
  if (!padding.empty() && static_cast<int>(padding.size()) != 2 * rank)
    refuse(c.op, std::to_string(padding.size()) + " numbers of padding", std::to_string(2 * rank));
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(2 * i);
    w.low.push_back(padding.empty() ? 0 : padding[at]);
    w.high.push_back(padding.empty() ? 0 : padding[at + 1]);
    if (w.window[i] < 1 || w.stride[i] < 1 || w.base[i] < 1 || w.dilation[i] < 1)
      refuse(c.op, "a window, step or dilation below 1", "1 or more");
  }
  return w;
}
/// How many windows there are along each axis of a padded operand.
inline shape places_of_windows(const array& padded, const window_numbers& w) {
  shape places;
  for (int i = 0; i < padded.rank(); ++i) {
    const std::int64_t n = padded.extent(i), span = (w.window[i] - 1) * w.dilation[i] + 1;
    places.push_back(n < span ? 0 : (n - span) / w.stride[i] + 1);
  }
  return places;
}
/// The elements of each window one after the other, which is the order in which sums are usually rounded.
inline values each_window_in_order(const rule_call& c, const values& padded, const values& init,
                                   const window_numbers& w) {
  const shape places = places_of_windows(padded[0].re, w);
  const int rank = places.rank();
  values sum = broadcast_all(init, places);
  for (std::int64_t k = 0; k < size(w.window); ++k) {
    shape from = places, end = places;
    std::int64_t rest = k;
    for (int i = rank - 1; i >= 0; --i) {
      from[i] = rest % w.window[i] * w.dilation[i];
      rest /= w.window[i];
      end[i] = places[i] > 0 ? from[i] + (places[i] - 1) * w.stride[i] + 1 : from[i];
    }
    values next;
    for (const value& v : padded)
      next.push_back(each_part([&](const array& x) { return slice(x, from, end, w.stride); }, v));
    sum = combined(c, 0, sum, next);
  }
  return sum;
}
/// Windows along one axis after the other. Those of 2^k places are two of half as many; others are put together from them.
inline values reduced_windows(const rule_call& c) {
  const int inputs = c.count() / 2, rank = c.at(0).re.rank();
  if (inputs < 1 || c.count() != 2 * inputs)
    refuse(c.op, std::to_string(c.count()) + " operands", "inputs and as many initial values");
  const window_numbers w = windows_of(c, rank);
  values y;
  shape between;
  for (int i = 0; i < rank; ++i) between.push_back(w.base[i] - 1);
  for (int k = 0; k < inputs; ++k) {
    const value &x = c.at(k), &init = c.at(inputs + k);
    const auto wide = [&](const array& a, const array& b) { return pad(a, b, w.low, w.high, between); };
    y.push_back({wide(x.re, init.re),
                 x.is_complex() ? wide(x.im, init.is_complex() ? init.im : zeros_like(init.re)) : array()});
  }
  const values init(c.in.begin() + inputs, c.in.end());
  if (size(w.window) <= 16) return each_window_in_order(c, y, init, w);
  const array whole = y[0].re;
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t n = y[0].re.extent(axis), span = (w.window[axis] - 1) * w.dilation[axis] + 1;
    if (n < span) return broadcast_all(init, places_of_windows(whole, w));
    const std::int64_t places = n - span + 1;  // before the stride
    values power = y, sum;                     // windows of 2^k, and of the lower bits of the extent
    std::int64_t width = 1, done = 0, left = w.window[axis];
    while (true) {
      if (left & 1) {
        const values next = part_along(power, axis, done * w.dilation[axis], done * w.dilation[axis] + places);
        sum = sum.empty() ? next : combined(c, 0, sum, next);
        done += width;
      }
      left >>= 1;
      if (left == 0) break;
      const std::int64_t m = power[0].re.extent(axis), by = width * w.dilation[axis];
      power = combined(c, 0, part_along(power, axis, 0, m - by), part_along(power, axis, by, m));
      width *= 2;
    }
    shape zero, end = sum[0].re.shape(), step;
    for (int i = 0; i < rank; ++i) zero.push_back(0), step.push_back(i == axis ? w.stride[axis] : 1);
    for (value& v : sum) v = each_part([&](const array& x) { return slice(x, zero, end, step); }, v);
    y = std::move(sum);
  }
  return combined(c, 0, broadcast_all(init, y[0].re.shape()), y);
}

/// The windows of an array that is padded already: element number k of each of them.
struct padded_windows {
  window_numbers w;
  shape places;  ///< how many windows there are along each axis

  /// The first position of these elements.
  shape first(std::int64_t k) const {
    shape from = places;
    for (int i = places.rank() - 1; i >= 0; --i) {
      from[i] = k % w.window[i];
      k /= w.window[i];
    }
    return from;
  }
  array elements(const array& a, std::int64_t k) const {
    const shape from = first(k);
    shape end;
    for (int i = 0; i < places.rank(); ++i) end.push_back(from[i] + (places[i] - 1) * w.stride[i] + 1);
    return slice(a, from, end, w.stride);
  }
  /// An element for each window, put to where `elements` takes it from; `fill` everywhere else.
  array put(const array& x, std::int64_t k, const shape& all, const array& fill) const {
    const shape from = first(k);
    shape high, between;
    for (int i = 0; i < places.rank(); ++i) {
      between.push_back(w.stride[i] - 1);
      high.push_back(all[i] - from[i] - ((places[i] - 1) * w.stride[i] + 1));
    }
    return pad(x, fill, from, high, between);
  }
};
/// The number of the element of each window that the first body selects. Padding, where `real` is false, is never selected.
inline array selected_elements(const rule_call& c, const padded_windows& windows, const array& wide,
                               const array& real) {
  array best, chosen, any;
  for (std::int64_t k = 0; k < size(windows.w.window); ++k) {
    const array next = windows.elements(wide, k), is_real = windows.elements(real, k);
    const array number = array(static_cast<double>(k), {i32, false, windows.places});
    if (k == 0) {
      best = next, chosen = number, any = is_real;
      continue;
    }
    const array stays = run_on_elements(c, 0, {{best, {}}, {next, {}}}, 1)[0].re;
    const array replaces = logical_and(is_real, logical_or(logical_not(any), logical_not(stays)));
    best = select(replaces, next, best);
    chosen = select(replaces, number, chosen);
    any = logical_or(any, is_real);
  }
  return chosen;
}
/// The source goes to that element of each window which the first body selects; the second body combines what meets there.
inline values selected_and_scattered(const rule_call& c) {
  const array &x = c[0], &source = c[1], &init = c[2];
  const int rank = x.rank();
  const padded_windows windows{windows_of(c, rank), source.shape()};
  const window_numbers& w = windows.w;
  std::int64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    count = mul_extent(count, w.window[i]);
    const std::int64_t span = x.extent(i) + w.low[i] + w.high[i] - w.window[i];
    if ((span < 0 ? 0 : span / w.stride[i] + 1) != source.extent(i))
      refuse(c.op, "a source that does not fit the windows", "an element for each window");
  }
  if (count > 4096) refuse(c.op, "windows of " + std::to_string(count) + " elements", "at most 4096");
  if (source.size() == 0) return {{broadcast_to(init, x.shape()), {}}};
  const array no(false, {bool_, false, {}}), wide = pad(x, zeros({}, x.dtype()), w.low, w.high);
  const array real = pad(array(true, {bool_, false, x.shape()}), no, w.low, w.high);
  const array chosen = selected_elements(c, windows, wide, real);
  array y = broadcast_to(init, wide.shape());
  for (std::int64_t k = 0; k < count; ++k) {
    const array here = chosen == array(static_cast<double>(k), {i32, false, {}});
    const array met = windows.put(here, k, wide.shape(), no),
                u = windows.put(source, k, wide.shape(), zeros({}, source.dtype()));
    y = select(met, run_on_elements(c, 1, {{y, {}}, {u, {}}}, 1)[0].re, y);
  }
  shape end;
  for (int i = 0; i < rank; ++i) end.push_back(w.low[i] + x.extent(i));
  return {{slice(y, w.low, end), {}}};
}

inline std::span<const rule_entry> reduction_rules() {
  static constexpr rule_entry all[] = {
      {"stablehlo.reduce", "reduce_sum, reduce_max; else a tree of the body", reduced},
      {"stablehlo.reduce_window", "the body on slices of 1, 2, 4, ... places", reduced_windows},
      {"stablehlo.select_and_scatter", "slices of windows", selected_and_scattered},
  };
  return all;
}

}  // namespace tokamax::stablehlo::detail
