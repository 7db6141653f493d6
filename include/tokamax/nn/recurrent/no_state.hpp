// tokamax/nn/recurrent/no_state.hpp: what recurrent cells begin with.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/lax/iota.hpp>  // zeros

namespace tokamax::nn::detail {

/// Zeros [batch..., width].
constexpr array no_state(shape batch, int width, dtype type) {
  batch.push_back(width);
  return zeros(batch, type);
}

}  // namespace tokamax::nn::detail
