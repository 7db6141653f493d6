// tokamax/nn/norms/norm_over.hpp: layer and RMS norm over any axes, with a mask, and over a named axis.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (layer_norm and rms_norm are ops)
// tested by tests/nn/flax_norms.cpp
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/lax/iota.hpp>                // ones, zeros
#include <tokamax/nn/norms/moments.hpp>        // moments_of, normalised

namespace tokamax::nn {

/// Normalises over some axes, and scales along some: layer_norm with all options, and rms_norm if `subtract_mean` is false.
/// `norm_over norm{.width = 8, .over = {1, 2}}` normalises images without their channels. The last axis alone is faster as
/// layer_norm or rms_norm, which are ops.
///
///   y = (x - mean) / sqrt(var + epsilon) * scale + offset
///
/// shapes  x [...] -> the same, with `width` = the product of the extents of the features; scale and offset [width] ([0] if not used);
///         a mask broadcasts to x, and says which elements count for mean and variance
/// dtypes  the result has the dtype of x, or compute_dtype, to which x is rounded; moments are computed in f32 if that is wider
/// init    scale ones, offset zeros
/// errors  "norm_over: axis", "norm_over: width", "pmean: axis name"
/// source  flax.nnx.LayerNorm, RMSNorm
struct norm_over {
  int width = 0;
  double epsilon = 1e-6;
  axes over{-1}, features{-1};
  bool subtract_mean = true, fast_variance = false;  ///< see moment_choice
  std::string_view axis = {};                        ///< a vmap whose entries are normalised together
  bool use_scale = true, use_offset = true;
  dtype compute_dtype = dtype::none, param_dtype = f32;
  array scale = ones({use_scale ? width : 0}, param_dtype), offset = zeros({use_offset ? width : 0}, param_dtype);

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    return (*this)(x, array(), l);
  }
  constexpr array operator()(const array& given, const array& mask, source_line l = source_line::current()) const {
    const layer_scope scope_of(*this, given);
    const array x = detail::in_dtype(given, compute_dtype, l);
    const axes reduced = detail::axes_of("norm_over: axis", over, x, l),
               kept = detail::axes_of("norm_over: axis", features, x, l);
    std::int64_t count = 1;
    for (std::int64_t a : kept) count = mul_extent(count, x.rank() > 0 ? x.extent(static_cast<int>(a)) : 0);
    if (count != width) {
      reject(x, l, "norm_over: width", message() << count << " features of " << x.type(), message() << width);
      return x;
    }
    const moments m = moments_of(
        x,
        {.over = reduced, .subtract_mean = subtract_mean, .fast_variance = fast_variance, .axis = axis, .mask = mask},
        l);
    const auto parameter = [&](bool used, const array& p) {
      return detail::along_features(detail::if_used(used, p), x, kept, l);
    };
    return normalised(x, m, epsilon, parameter(use_scale, scale), parameter(use_offset, offset), l);
  }
};

}  // namespace tokamax::nn
