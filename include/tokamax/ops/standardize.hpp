// tokamax/ops/standardize.hpp: arrays of mean 0 and variance 1, without parameters.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/piecewise_activations.cpp
#pragma once

#include <tokamax/numpy/statistics.hpp>  // mean

namespace tokamax {

/// The options of standardize.
struct standardize_options {
  axes axis = {-1};       ///< negative axes count from the end
  double epsilon = 1e-5;  ///< added to the variance before the root
};

/// (x - mean) / sqrt(variance + epsilon) with a mean and a variance that are known.
/// shapes  mean and variance broadcast against x
constexpr array standardize(const array& x, const array& mean, const array& variance, double epsilon = 1e-5,
                            source_line l = source_line::current()) {
  const dtype type = carrying(x.dtype());
  const array centred = astype(x, type, l) - located(astype(mean, type, l), l);
  return astype(centred * located(rsqrt(astype(variance, type, l) + epsilon, l), l), detail::mean_dtype(x), l);
}
/// The same with the mean and the variance over some axes.
///
///   y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon)
///
/// shapes  x [...] -> the same
/// dtypes  computed in f32 and rounded once, f64 in f64; integers give f32
/// errors  "reduce_sum: axis" for an axis that x does not have
/// source  jax.nn.standardize, with the variance of algorithm "stable": the mean of x^2 less that of x squared has no digit
///         left where x is far from 0
constexpr array standardize(const array& x, const standardize_options& o = {}, source_line l = source_line::current()) {
  const array centred = detail::less_mean(astype(x, carrying(x.dtype()), l), {o.axis, true}, l);
  const array variance = detail::mean_in_f32(square(centred, l), {o.axis, true}, l);
  return astype(centred * located(rsqrt(variance + o.epsilon, l), l), detail::mean_dtype(x), l);
}
/// The same, where the mean and the variance are those of the elements that `where` selects.
/// shapes  where bool, broadcasts to x
constexpr array standardize(const array& x, const array& where, const standardize_options& o,
                            source_line l = source_line::current()) {
  const array wide = astype(x, carrying(x.dtype()), l), chosen = broadcast_to(astype(where, bool_), x.shape(), l);
  const array none = zeros_like(wide), number = sum(astype(chosen, wide.dtype()), {o.axis, true}, l);
  const auto mean_of = [&](const array& v) {
    return sum(select(chosen, v, none, l), {o.axis, true}, l) / located(number, l);
  };
  const array near = wide - located(mean_of(wide), l), centred = near - located(mean_of(near), l);
  return astype(centred * located(rsqrt(mean_of(square(centred, l)) + o.epsilon, l), l), detail::mean_dtype(x), l);
}

}  // namespace tokamax
