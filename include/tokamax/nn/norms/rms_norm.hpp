// tokamax/nn/norms/rms_norm.hpp: rms_norm with a learned scale.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/lax/iota.hpp>                // ones
#include <tokamax/ops/rms_norm.hpp>            // rms_norm

namespace tokamax::nn {

/// Divides the last axis by its root mean square. `rms_norm norm{width}`.
///
/// shapes  x [..., width] -> the same; scale [width] ([0] if it is not used)
/// init    scale ones
/// source  flax.nnx.RMSNorm
/// see     norm_over for other axes, masks and named axes
struct rms_norm {
  int width = 0;
  double epsilon = 1e-6;
  bool use_scale = true;
  dtype compute_dtype = dtype::none, param_dtype = f32;  ///< of x and the result, of the scale
  array scale = ones({use_scale ? width : 0}, param_dtype);

  constexpr array operator()(const array& given, source_line l = source_line::current()) const {
    const layer_scope scope_of(*this, given);
    array x = given, factor;
    if (compute_dtype != dtype::none) x = astype(given, compute_dtype, l);
    if (use_scale) factor = scale;
    return tokamax::rms_norm(x, factor, {.epsilon = epsilon}, l);
  }
};

}  // namespace tokamax::nn
