// tokamax/nn/prelu.hpp: a rectifier whose slope below zero is learned.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>      // layer_scope
#include <tokamax/lax/elementwise/arithmetic.hpp>  // *
#include <tokamax/lax/elementwise/compare.hpp>     // select
#include <tokamax/lax/iota.hpp>                    // full

namespace tokamax::nn {

/// x where it is not negative, and slope * x elsewhere. `prelu activate{.first_slope = 0.25}`.
///
/// shapes  x [...] -> the same; slope []
/// dtypes  those of x, to which the slope is rounded
/// init    slope first_slope
/// source  flax.nnx.PReLU; He and others 2015, arXiv:1502.01852
struct prelu {
  double first_slope = 0.01;
  dtype param_dtype = f32;
  array slope = full({}, first_slope, param_dtype);

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    return select(x >= 0, x, astype(slope, x.dtype(), l) * x, l);
  }
};

}  // namespace tokamax::nn
