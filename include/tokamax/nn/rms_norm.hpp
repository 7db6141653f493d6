// tokamax/nn/rms_norm.hpp: rms_norm with a learned scale.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/lax/iota.hpp>                // ones
#include <tokamax/ops/rms_norm.hpp>            // rms_norm

namespace tokamax::nn {

/// Divides the last axis by its root mean square. `rms_norm norm{width}`.
///
/// shapes  x [..., width] -> the same; scale [width]
/// init    scale ones
/// source  flax.nnx.RMSNorm
struct rms_norm {
  int width = 0;
  double epsilon = 1e-6;
  array scale = ones({width});

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    return tokamax::rms_norm(x, scale, {.epsilon = epsilon}, l);
  }
};

}  // namespace tokamax::nn
