// tokamax/numpy/statistics.hpp: mean and variance.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/reduce.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>  // sum

#include <limits>  // quiet_NaN

namespace tokamax {

namespace detail {
/// Sum and quotient in f32 at least, also of bf16. Statements: g++ 12 destroys the temporaries of ?: twice while compiling.
constexpr array mean_in_f32(const array& x, const reduce_options& o, source_line l) {
  array total;
  const dtype type = carrying(x.dtype());
  if (is_floating(x.dtype()) && x.dtype() != type)
    total = reduce(described<sum_in_32_bits_p>(), x, o, l);
  else
    total = sum(astype(x, type), o, l);
  const std::int64_t n = reduced_count(x, o.axis);
  if (is_dyn(n)) return total / located(astype(extent_as_array(n, l), type), l);
  return total / located(static_cast<double>(n), l);
}
/// x, in the dtype of sums, less its mean over some axes, which `o` keeps. Far from zero a mean has too few digits, and what
/// rounding has taken from it is the mean of the differences.
constexpr array less_mean(const array& x, const reduce_options& o, source_line l = source_line::current()) {
  const array near = x - located(mean_in_f32(x, o, l), l);
  return near - located(mean_in_f32(near, o, l), l);
}
/// The dtype of the mean and the variance of an array.
constexpr dtype mean_dtype(const array& x) { return floating_for(x.dtype()); }
}  // namespace detail

/// Mean over some axes (all, if none is given).
///
/// shapes  x [...] -> x without `axis` (extent 1 with .keepdims)
/// dtypes  computed in f32 and rounded once; integers give f32, and 64-bit dtypes give f64
/// errors  "reduce_sum: axis" for an axis that x does not have
/// source  jax.numpy.mean
template <class = void>
constexpr array mean(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return astype(detail::mean_in_f32(x, o, l), detail::mean_dtype(x));
}
constexpr array mean(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return mean(x, {.axis = axis}, l);
}

/// The options of var and std: of how many elements less than there are the mean of squares is taken.
struct moment_options {
  axes axis = every_axis;  ///< negative axes count from the end
  bool keepdims = false;   ///< keep the reduced axes with extent 1
  double ddof = 0;         ///< subtracted from the number of elements; 1 for an unbiased estimate
};
/// The sum of squared deviations over n - ddof, by two passes; NaN where that is not positive.
///
/// shapes, dtypes, errors  as mean
/// source  jax.numpy.var
template <class = void>
constexpr array var(const array& x, const moment_options& o = {}, source_line l = source_line::current()) {
  const array centred = astype(x, carrying(x.dtype()), l) - located(detail::mean_in_f32(x, {o.axis, true}, l), l);
  const array squares = centred * located(centred, l);
  if (o.ddof == 0) return astype(detail::mean_in_f32(squares, {o.axis, o.keepdims}, l), detail::mean_dtype(x), l);
  const double n = static_cast<double>(detail::reduced_count(x, o.axis)) - o.ddof;
  const array divisor(n > 0 ? n : std::numeric_limits<double>::quiet_NaN(), {centred.dtype(), false, {}});
  return astype(sum(squares, {o.axis, o.keepdims}, l) / located(divisor, l), detail::mean_dtype(x), l);
}
constexpr array var(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return var(x, {.axis = axis}, l);
}

}  // namespace tokamax
