// tokamax/numpy/signal/histogram.hpp: counts in intervals and relations of variables: bincount, histogram, cov, corrcoef.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (statistics need it)
// tested by tests/numpy/signal.cpp
#pragma once

#include <tokamax/numpy/creation/matrices.hpp>    // diag
#include <tokamax/numpy/creation/ranges.hpp>      // linspace
#include <tokamax/numpy/reductions/products.hpp>  // mean
#include <tokamax/numpy/signal/contractions.hpp>  // matmul
#include <tokamax/numpy/sorting/order.hpp>        // searchsorted

namespace tokamax {

/// How often each of the integers 0, ..., length - 1 occurs in x, or the sums of the weights of its elements. Negative
/// numbers count as 0, and larger ones are left out.
///
/// shapes  x [n], weights [n] -> [length]
/// errors  "bincount: operand" of other than integers along one axis
/// source  jax.numpy.bincount with a length
constexpr array bincount(const array& x, std::int64_t length, const array& weights = {},
                         source_line l = source_line::current()) {
  if (x.rank() != 1 || !(is_integer(x.dtype()) || x.dtype() == bool_)) {
    reject(x, l, "bincount: operand", x.type(), "integers along one axis");
    return x;
  }
  const array place = maximum(detail::integers_in_i32(x, l), array(0, {i32, false, {}}));
  if (!weights.exists()) return scatter_add(place, ones(x.shape(), i32), length, l);
  return scatter_add(place, weights, length, l);
}

/// Edges of `bins` intervals of equal width between two numbers, by default the smallest and the largest of x.
/// source  jax.numpy.histogram_bin_edges
constexpr array histogram_bin_edges(const array& x, std::int64_t bins = 10, const array& low = {},
                                    const array& high = {}, source_line l = source_line::current()) {
  const dtype type = floating_for(x.dtype());
  array a = low, b = high;
  if (!a.exists()) a = tokamax::min(x, {}, l);
  if (!b.exists()) b = tokamax::max(x, {}, l);
  a = astype(a, type), b = astype(b, type);
  const array half = detail::number_like(a, 0.5), equal_ends = a == b;
  const array from = select(equal_ends, a - half, a), to = select(equal_ends, b + half, b);
  return linspace(from, to, bins + 1, {}, l);
}
/// Counts in intervals and the edges of these; the last interval includes its right edge. With `density` the counts are
/// divided by their sum and by the width.
struct histogram_result {
  array counts, edges;
};
/// shapes  x [...], edges [n + 1] -> [n]
/// dtypes  counts are those of the edges' dtype
/// source  jax.numpy.histogram
constexpr histogram_result histogram(const array& x, const array& edges, const array& weights = {},
                                     bool density = false, source_line l = source_line::current()) {
  const array flat = astype(ravel(x, l), edges.dtype());
  const std::int64_t n = edges.extent(0) - 1;
  array place = searchsorted(edges, flat, search_side::right, l);
  const array last = take(edges, array(n, {i32, false, {}}));
  place = select(flat == last, array(n, {i32, false, {}}), place);
  const array inside = logical_and(place >= 1, place <= array(n, {i32, false, {}}));
  array w = ones(flat.shape(), edges.dtype());
  if (weights.exists()) w = astype(ravel(weights, l), edges.dtype());
  array counts = scatter_add(select(inside, place - 1, array(-2147483648, {i32, false, {}})), w, n);
  if (density) counts = counts / (slice_in_dim(edges, 1, n + 1, 0) - slice_in_dim(edges, 0, n, 0)) / sum(counts);
  return {counts, edges};
}
constexpr histogram_result histogram(const array& x, std::int64_t bins = 10, const array& weights = {},
                                     bool density = false, source_line l = source_line::current()) {
  return histogram(x, histogram_bin_edges(x, bins, {}, {}, l), weights, density, l);
}

/// The options of cov.
struct cov_options {
  bool rowvar = true;  ///< rows are variables, columns observations
  bool bias = false;   ///< divide by n, not by n - 1
  double ddof = -1;    ///< if not negative: divide by n - ddof
};
namespace detail {
/// cov of floats of 32 bits or more.
constexpr array covariances(const array& x, const cov_options& o, source_line l) {
  array rows = atleast_2d(x, l);
  if (!o.rowvar && x.rank() == 2) rows = transpose(rows, l);
  const array centred = rows - located(mean(rows, {{1}, true}), l);
  const double n = static_cast<double>(rows.extent(1)) - (o.ddof >= 0 ? o.ddof : o.bias ? 0 : 1);
  const array products = matmul(centred, transpose(centred));
  return squeeze(products / detail::number_like(products, n > 0 ? n : 0));
}
}  // namespace detail

/// The covariances of variables.
///
///   c[i, j] = sum over k of (x[i, k] - mean(x[i])) (x[j, k] - mean(x[j])) / (n - ddof)
///
/// shapes  x [variables, n] or [n] -> [variables, variables], or [] for one
/// dtypes  floats, computed in f32 or f64 and rounded once; integers become f32
/// errors  "cov: operand" of more than two axes
/// source  jax.numpy.cov
constexpr array cov(const array& x, cov_options o = {}, source_line l = source_line::current()) {
  if (x.rank() > 2) {
    reject(x, l, "cov: operand", x.type(), "at most two axes");
    return x;
  }
  if (!is_known("cov", x, l)) return x;
  return detail::rounded_once(detail::in_floats(x), [&](const array& v) { return detail::covariances(v, o, l); });
}
/// The correlations of variables: covariances over the products of both standard deviations, within -1 and 1.
/// dtypes  as cov
/// source  jax.numpy.corrcoef
constexpr array corrcoef(const array& x, bool rowvar = true, source_line l = source_line::current()) {
  if (x.rank() > 2) return cov(x, {}, l);  // which says what is wrong
  if (!is_known("corrcoef", x, l)) return x;
  return detail::rounded_once(detail::in_floats(x), [&](const array& v) {
    const array c = detail::covariances(v, {.rowvar = rowvar}, l);
    if (c.rank() == 0) return c / located(c, l);
    const array deviation = sqrt(diag(c)), y = c / expand_dims(deviation, 1) / expand_dims(deviation, 0);
    return maximum(minimum(y, 1.0), -1.0);
  });
}

}  // namespace tokamax
