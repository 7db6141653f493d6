// tokamax/nn/norms/moments.hpp: the mean and variance by which layers normalise, of chosen elements and over named axes.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (layer_norm and rms_norm are ops)
// tested by tests/nn/flax_norms.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>              // sum
#include <tokamax/lax/shapes/reshape.hpp>      // reshape
#include <tokamax/numpy/statistics.hpp>        // mean
#include <tokamax/transforms/collectives.hpp>  // pmean

#include <string_view>  // string_view

namespace tokamax::nn {

/// What a norm takes mean and variance of.
struct moment_choice {
  axes over = {};             ///< axes of x, from 0 on
  bool subtract_mean = true;  ///< without it the mean is 0
  bool fast_variance =
      false;  ///< mean(x^2) - mean^2, which has fewer digits far from zero, in place of mean((x - mean)^2)
  std::string_view axis = {};  ///< a vmap whose entries count together; if empty, each entry is on its own
  array mask = {};             ///< booleans that broadcast to x: what counts; if it does not exist, everything
};
/// Mean and variance, with extents of 1 along the axes that they are taken over.
struct moments {
  array mean, variance;
};

/// The mean and variance of x. Of no elements they are NaN.
///
/// shapes  x [...] -> [...] with extents of 1
/// dtypes  those in which sums of x are carried
/// errors  "pmean: axis name"
/// source  flax.nnx.nn.normalization._compute_stats
constexpr moments moments_of(const array& x, const moment_choice& c, source_line l = source_line::current()) {
  const array wide = astype(x, carrying(x.dtype()), l);
  array chosen;
  if (c.mask.exists()) chosen = broadcast_to(astype(c.mask, bool_, l), x.shape(), l);
  const reduce_options over{.axis = c.over, .keepdims = true};
  const auto average = [&](const array& a) {
    array m;
    if (chosen.exists())
      m = sum(select(chosen, a, zeros_like(a), l), over, l) / sum(astype(chosen, a.dtype(), l), over, l);
    else
      m = tokamax::mean(a, over, l);
    if (c.axis.empty()) return m;
    return pmean(m, c.axis, l);
  };
  if (!c.subtract_mean) {
    const array squares = average(square(wide, l));
    return {zeros_like(squares), squares};
  }
  const array m = average(wide);
  if (!c.fast_variance) return {m, average(square(wide - m, l))};
  return {m, maximum(average(square(wide, l)) - square(m, l), 0.0f, l)};
}

namespace detail {
/// A parameter, or an array that does not exist in place of one that is not used.
constexpr array if_used(bool used, const array& parameter) {
  if (used) return parameter;
  return {};
}
/// `a` in a dtype, if there is one.
constexpr array in_dtype(const array& a, dtype t, source_line l) {
  if (t == dtype::none || !a.exists()) return a;
  return astype(a, t, l);
}
/// A parameter [C] along the axes of x that are its features.
constexpr array along_features(const array& parameter, const array& x, const axes& features, source_line l) {
  if (!parameter.exists()) return parameter;
  shape s;
  for (int i = 0; i < x.rank(); ++i) s.push_back(features.contains(i) ? x.extent(i) : 1);
  return reshape(parameter, s, l);
}
/// The axes of x that a list names, from 0 on.
constexpr axes axes_of(const char* what, const axes& given, const array& x, source_line l) {
  axes from_zero;
  for (std::int64_t a : given) from_zero.push_back(checked_axis(what, a, x, l));
  return from_zero;
}
}  // namespace detail

/// (x - mean) / sqrt(variance + epsilon) * scale + offset, in the dtype of x. Moments and parameters broadcast to x; a scale or
/// an offset that does not exist is left out.
constexpr array normalised(const array& x, const moments& m, double epsilon, const array& scale, const array& offset,
                           source_line l = source_line::current()) {
  array factor = rsqrt(m.variance + epsilon, l);
  if (scale.exists()) factor = factor * scale;
  array y = (astype(x, carrying(x.dtype()), l) - m.mean) * factor;
  if (offset.exists()) y = y + offset;
  return astype(y, x.dtype(), l);
}

}  // namespace tokamax::nn
