// tokamax/numpy/signal/histogramdd.hpp: counts of points in boxes: histogram2d, histogramdd.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (statistics need it)
// tested by tests/numpy/signal.cpp
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>       // stack
#include <tokamax/numpy/indexing/choose.hpp>        // ravel_multi_index
#include <tokamax/numpy/reductions/cumulative.hpp>  // diff
#include <tokamax/numpy/signal/histogram.hpp>       // histogram_bin_edges, bincount

namespace tokamax {

/// Counts in the boxes of a grid, and the edges of the intervals along each axis.
struct histogramdd_result {
  array counts;
  arrays edges;
};

namespace detail {
/// The interval of each number among n edges, counted from 1; 0 before the first edge and n behind the last one, which
/// belongs to the last interval.
constexpr array interval_of(const array& x, const array& edges, source_line l) {
  const std::int64_t n = edges.extent(0);
  const array place = searchsorted(edges, x, search_side::right, l);
  const array last = reshape(slice_in_dim(edges, n - 1, n, 0, l), {});
  return select(x == last, place - array(1, {place.dtype(), false, {}}), place);
}
}  // namespace detail

/// How many points are in each box of the grid that the edges make, or the sums of their weights. With `density` they are
/// divided by their sum and by the volume of the box.
///
/// shapes  sample [points, d], d arrays of edges [n + 1], weights [points] -> [n, ...]
/// dtypes  sample f32 or f64, integers become f32; counts are i32, and those of weights or with density floats
/// errors  "histogramdd: sample" without two axes, "histogramdd: edges" unless there is an array of two or more for each
///         column, "histogramdd: weights"
/// source  jax.numpy.histogramdd
constexpr histogramdd_result histogramdd(const array& sample, const arrays& edges, const array& weights = {},
                                         bool density = false, source_line l = source_line::current()) {
  if (sample.rank() != 2 || sample.extent(1) < 1) {
    reject(sample, l, "histogramdd: sample", sample.type(), "[points, axes]");
    return {sample, edges};
  }
  const int d = static_cast<int>(sample.extent(1));
  bool ok = edges.count() == d;
  for (const array& e : edges) ok = ok && e.rank() == 1 && e.extent(0) >= 2;
  if (!ok) {
    reject(sample, l, "histogramdd: edges", message() << edges.count() << " arrays",
           message() << d << " of two or more edges");
    return {sample, edges};
  }
  if (weights.exists() && !(weights.shape() == shape{sample.extent(0)})) {
    reject(weights, l, "histogramdd: weights", weights.type(), message("one for each row of ") << sample.type());
    return {sample, edges};
  }
  const array points = detail::in_floats(sample);
  shape with_outside, counts_shape, from;
  arrays place, same;
  for (int k = 0; k < d; ++k) {
    same.push_back(astype(edges[k], points.dtype(), l));
    const array column = reshape(slice_in_dim(points, k, k + 1, 1, l), {points.extent(0)});
    place.push_back(detail::interval_of(column, same[k], l));
    counts_shape.push_back(edges[k].extent(0) - 1);
    with_outside.push_back(edges[k].extent(0) + 1);
    from.push_back(1);
  }
  shape to;
  for (std::int64_t n : counts_shape) to.push_back(n + 1);
  array w = weights;
  if (w.exists()) w = astype(w, points.dtype(), l);
  const array all = bincount(ravel_multi_index(place, with_outside, l), size(with_outside), w, l);
  array counts = slice(reshape(all, with_outside), from, to, {}, l);
  if (density) {
    counts = astype(counts, points.dtype(), l);
    counts = counts / sum(counts);
    for (int k = 0; k < d; ++k) {
      shape along;
      for (int i = 0; i < d; ++i) along.push_back(i == k ? counts_shape[k] : 1);
      counts = counts / reshape(diff(same[k], 1, 0, l), along);
    }
  }
  return {counts, same};
}
/// The same with `bins` intervals of equal width along each axis, between the smallest and the largest number.
constexpr histogramdd_result histogramdd(const array& sample, std::int64_t bins = 10, const array& weights = {},
                                         bool density = false, source_line l = source_line::current()) {
  arrays edges;
  const array points = detail::in_floats(sample);
  for (std::int64_t k = 0; sample.rank() == 2 && k < sample.extent(1); ++k)
    edges.push_back(histogram_bin_edges(slice_in_dim(points, k, k + 1, 1, l), bins, {}, {}, l));
  return histogramdd(sample, edges, weights, density, l);
}

/// Counts of the points (x[i], y[i]) in rectangles; `edges` has those of x and those of y.
///
/// shapes  x, y, weights [points] -> [bins of x, bins of y]
/// errors  "histogram2d: points" unless x and y are equally long, and those of histogramdd
/// source  jax.numpy.histogram2d
constexpr histogramdd_result histogram2d(const array& x, const array& y, const arrays& edges, const array& weights = {},
                                         bool density = false, source_line l = source_line::current()) {
  if (x.rank() != 1 || !(x.shape() == y.shape())) {
    reject(x, l, "histogram2d: points", y.type(), message("one axis, as ") << x.type());
    return {x, edges};
  }
  return histogramdd(stack({detail::in_floats(x), detail::in_floats(y)}, 1, l), edges, weights, density, l);
}
constexpr histogramdd_result histogram2d(const array& x, const array& y, std::int64_t bins = 10,
                                         const array& weights = {}, bool density = false,
                                         source_line l = source_line::current()) {
  arrays edges;
  for (const array* v : {&x, &y}) edges.push_back(histogram_bin_edges(detail::in_floats(*v), bins, {}, {}, l));
  return histogram2d(x, y, edges, weights, density, l);
}

}  // namespace tokamax
