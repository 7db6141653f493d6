// tokamax/numpy/reductions/products.hpp: counts, products, ranges and averages of elements: count_nonzero, ptp, std, average.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/reductions.cpp
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate, slice_in_dim
#include <tokamax/numpy/statistics.hpp>        // mean, var

namespace tokamax {

namespace detail {
/// Products of the elements along one axis, which is kept with extent 1. Halves are multiplied with each other, so that the
/// gradient needs no division and is right beside zeros too.
constexpr array prod_along(array x, int axis) {
  if (x.extent(axis) == 0) {
    shape s = x.shape();
    s[axis] = 1;
    return ones(s, x.dtype());
  }
  for (std::int64_t n = x.extent(axis); n > 1; n = x.extent(axis)) {
    const array left = slice_in_dim(x, 0, n / 2, axis), right = slice_in_dim(x, n / 2, n / 2 * 2, axis);
    const array halves = left * right;
    if (n % 2 == 0)
      x = halves;
    else if (n == 3)
      x = halves * slice_in_dim(x, 2, 3, axis);
    else
      x = concatenate({halves, slice_in_dim(x, n - 1, n, axis)}, axis);
  }
  return x;
}
}  // namespace detail

/// The product over some axes (all, if none is given); of no elements it is 1.
///
/// shapes  x [...] -> x without `axis` (extent 1 with .keepdims)
/// dtypes  16-bit floats are multiplied in f32; bool and narrow integers give i32 or u32
/// errors  "prod: axis"
/// source  jax.numpy.prod
template <class = void>
constexpr array prod(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  const axes axis = detail::normalized(o.axis, x.rank());
  if (o.axis.count >= 0 && axis.rank() != o.axis.rank())
    reject(x, l, "prod: axis", message() << o.axis, message("axes of ") << x.type());
  const bool narrow = bits_of(x.dtype()) < 32 || x.dtype() == bool_;
  array y = x;
  if (narrow) y = astype(x, detail::summed_in(x.dtype()));
  for (std::int64_t a : axis) y = detail::prod_along(y, static_cast<int>(a));
  if (is_floating(x.dtype())) y = astype(y, x.dtype());
  if (o.keepdims) return y;
  shape s;
  for (int i = 0; i < x.rank(); ++i)
    if (!axis.contains(i)) s.push_back(x.extent(i));
  return reshape(y, s);
}
constexpr array prod(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return prod(x, {.axis = axis}, l);
}

/// How many elements are not zero.
///
/// dtypes  any -> i32
/// errors  "count_nonzero: axis" is that of the sum
/// source  jax.numpy.count_nonzero
template <class = void>
constexpr array count_nonzero(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return sum(astype(x, bool_), o, l);
}
constexpr array count_nonzero(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return count_nonzero(x, {.axis = axis}, l);
}
/// The largest element minus the smallest.
/// source  jax.numpy.ptp
template <class = void>
constexpr array ptp(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return max(x, o, l) - located(min(x, o, l), l);
}
constexpr array ptp(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return ptp(x, {.axis = axis}, l);
}

/// The root of the variance. It has this name because std is a namespace.
/// source  jax.numpy.std
template <class = void>
constexpr array std_(const array& x, const moment_options& o = {}, source_line l = source_line::current()) {
  const dtype type = detail::mean_dtype(x);
  return astype(sqrt(astype(var(astype(x, carrying(x.dtype())), o, l), carrying(type))), type);
}
constexpr array std_(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return std_(x, {.axis = axis}, l);
}

/// {sum(weights x) / sum(weights), sum(weights)} over one axis, or over all elements.
///
/// shapes  weights like x, or [extent of the axis]
/// dtypes  the promotion of both, floating; computed in f32 or f64 and rounded once
/// errors  "average: weights"
/// source  jax.numpy.average with returned
struct average_result {
  array average, sum_of_weights;
};
template <std::derived_from<array> Weights>  // so that {} stands for the options of the other one
constexpr average_result average(const array& x, const Weights& weights, reduce_options o = {},
                                 source_line l = source_line::current()) {
  array w = weights;
  if (w.shape() != x.shape()) {
    const axes axis = detail::normalized(o.axis, x.rank());
    if (w.rank() != 1 || axis.rank() != 1 || o.axis.count < 0 || w.extent(0) != x.extent(static_cast<int>(axis[0]))) {
      reject(x, l, "average: weights", w.type(), message("those of all or one axis of ") << x.type());
      return {x, x};
    }
    w = broadcast_in_dim(w, x.shape(), axis, l);
  }
  const promoted p = promote({x.dtype(), x.type().weak}, {w.dtype(), w.type().weak});
  const dtype type = floating_for(p.type);
  const dtype wide = carrying(type);
  w = astype(astype(w, type), wide);
  const array total = sum(w, o, l), products = astype(astype(x, type), wide) * w;
  return {astype(sum(products, o, l) / total, type), astype(total, type)};
}
/// The mean of x.
template <class = void>
constexpr array average(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return mean(x, o, l);
}
constexpr array average(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return average(x, {.axis = axis}, l);
}

}  // namespace tokamax
