// tokamax/complex/reductions.hpp: sums, means, products and moments of complex numbers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/complex/shapes.hpp>    // moveaxis, slice_in_dim
#include <tokamax/lax/cumulative.hpp>    // cumsum
#include <tokamax/lax/reduce.hpp>        // sum
#include <tokamax/numpy/statistics.hpp>  // mean

namespace tokamax {

/// source  jax.numpy.sum, mean and cumsum of complex numbers
constexpr complex_parts sum(const complex_parts& z, reduce_options o = {}, source_line l = source_line::current()) {
  return {sum(z.re, o, l), sum(z.im, o, l)};
}
constexpr complex_parts mean(const complex_parts& z, reduce_options o = {}, source_line l = source_line::current()) {
  return {mean(z.re, o, l), mean(z.im, o, l)};
}
constexpr complex_parts cumsum(const complex_parts& z, int axis = -1, source_line l = source_line::current()) {
  return {cumsum(z.re, axis, false, l), cumsum(z.im, axis, false, l)};
}

/// The product along one axis, which vanishes: neighbours are multiplied in log2(n) steps. Of no elements it is 1.
/// source  jax.numpy.prod
constexpr complex_parts prod(const complex_parts& z, int axis, source_line l = source_line::current()) {
  complex_parts x = moveaxis(z, axis, 0, l);
  if (x.extent(0) == 0) {
    const complex_parts none = sum(x, {{0}}, l);
    return {ones_like(none.re), zeros_like(none.im)};
  }
  for (std::int64_t n = x.extent(0); n > 1; n = x.extent(0)) {
    const std::int64_t half = n / 2;
    const complex_parts pairs = slice_in_dim(x, 0, half, 0, l) * slice_in_dim(x, half, 2 * half, 0, l);
    x = n % 2 == 0 ? pairs : concatenate({pairs, slice_in_dim(x, n - 1, n, 0, l)}, 0, l);
  }
  return squeeze(x, 0, l);
}
/// The product of all elements.
constexpr complex_parts prod(const complex_parts& z, source_line l = source_line::current()) {
  return prod(ravel(z, l), 0, l);
}
/// The products of the first elements along an axis, in log2(n) steps.
/// source  jax.numpy.cumprod
constexpr complex_parts cumprod(const complex_parts& z, int axis = -1, source_line l = source_line::current()) {
  complex_parts x = moveaxis(z, axis, 0, l);
  const std::int64_t n = x.extent(0);
  for (std::int64_t d = 1; d < n; d *= 2) {
    const complex_parts first = slice_in_dim(x, 0, d, 0, l);
    x = concatenate({first, slice_in_dim(x, 0, n - d, 0, l) * slice_in_dim(x, d, n, 0, l)}, 0, l);
  }
  return moveaxis(x, 0, axis, l);
}
/// The mean of |z - mean(z)|^2, which is real, and its root.
/// source  jax.numpy.var, std of complex numbers
constexpr array var(const complex_parts& z, const moment_options& o = {}, source_line l = source_line::current()) {
  return var(z.re, o, l) + var(z.im, o, l);
}
constexpr array std_(const complex_parts& z, const moment_options& o = {}, source_line l = source_line::current()) {
  return sqrt(var(z, o, l));
}
/// Are all (is one) of the numbers other than 0?
/// source  jax.numpy.all, any
constexpr array all(const complex_parts& z, reduce_options o = {}, source_line l = source_line::current()) {
  return all(z != array(0.0f), o, l);
}
constexpr array any(const complex_parts& z, reduce_options o = {}, source_line l = source_line::current()) {
  return any(z != array(0.0f), o, l);
}

}  // namespace tokamax
