// tokamax/nn/layer_norm.hpp: layer_norm with a learned scale and offset.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/lax/iota.hpp>                // ones, zeros
#include <tokamax/ops/layer_norm.hpp>          // layer_norm

namespace tokamax::nn {

/// Normalises the last axis. `layer_norm norm{width}`.
///
/// shapes  x [..., width] -> the same; scale and offset [width]
/// init    scale ones, offset zeros
/// source  flax.nnx.LayerNorm
struct layer_norm {
  int width = 0;
  double epsilon = 1e-6;
  array scale = ones({width});
  array offset = zeros({width});

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    return tokamax::layer_norm(x, scale, offset, {.epsilon = epsilon}, l);
  }
};

}  // namespace tokamax::nn
