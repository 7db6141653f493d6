// tokamax/nn/statistic.hpp: an array that a layer computes while it is trained, such as a running mean.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/nn/norms/batch_norm.cpp
#pragma once

#include <tokamax/core/leaf_kind.hpp>  // not_trained

namespace tokamax::nn {

/// A leaf that is no parameter: gradients and optimisers leave it alone, and the layer assigns to it.
/// source  flax.nnx.BatchStat
struct statistic : array, not_trained {
  constexpr statistic() = default;
  constexpr statistic(const array& a) : array(a) {}  // NOLINT: a statistic is an array
};

}  // namespace tokamax::nn
