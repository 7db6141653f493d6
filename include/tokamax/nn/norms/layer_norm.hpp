// tokamax/nn/norms/layer_norm.hpp: layer_norm with a learned scale and offset.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/lax/iota.hpp>                // ones, zeros
#include <tokamax/ops/layer_norm.hpp>          // layer_norm

namespace tokamax::nn {

/// Normalises the last axis. `layer_norm norm{width}`.
///
/// shapes  x [..., width] -> the same; scale and offset [width] ([0] if they are not used)
/// init    scale ones, offset zeros
/// source  flax.nnx.LayerNorm
/// see     norm_over for other axes, masks and named axes
struct layer_norm {
  int width = 0;
  double epsilon = 1e-6;
  bool use_scale = true, use_offset = true;
  dtype compute_dtype = dtype::none, param_dtype = f32;  ///< of x and the result, of scale and offset
  array scale = ones({use_scale ? width : 0}, param_dtype);
  array offset = zeros({use_offset ? width : 0}, param_dtype);

  constexpr array operator()(const array& given, source_line l = source_line::current()) const {
    const layer_scope scope_of(*this, given);
    array x = given, factor, summand;
    if (compute_dtype != dtype::none) x = astype(given, compute_dtype, l);
    if (use_scale) factor = scale;
    if (use_offset) summand = offset;
    return tokamax::layer_norm(x, factor, summand, {.epsilon = epsilon}, l);
  }
};

}  // namespace tokamax::nn
