// tokamax/nn/cache.hpp: an array that a layer remembers from call to call, such as the keys of tokens that it has seen.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (multi_head_attention has one)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/core/leaf_kind.hpp>  // not_trained

namespace tokamax::nn {

/// A leaf that is no parameter: gradients and optimisers leave it alone, and the layer assigns to it while it is used.
/// source  flax.nnx.Cache
struct cache : array, not_trained {
  constexpr cache() = default;
  constexpr cache(const array& a) : array(a) {}  // NOLINT: a cache is an array
};

}  // namespace tokamax::nn
