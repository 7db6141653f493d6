// tokamax/ops/attention/weights.hpp: the weights by which attention multiplies values.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (attention itself does not make them)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/lax/shapes/transpose.hpp>  // swapaxes
#include <tokamax/ops/attention.hpp>         // dot_product_attention

namespace tokamax {

/// The softmax of the scaled products of queries and keys: the attention to values that are the rows of an identity.
///
/// shapes  q [..., T, N, H], k [..., S, K, H] -> [..., N, T, S]
/// dtypes, errors  those of dot_product_attention
/// source  flax.nnx.dot_product_attention_weights
constexpr array dot_product_attention_weights(const array& q, const array& k, const attention_options& options = {},
                                              source_line l = source_line::current()) {
  if (k.rank() < 3) return dot_product_attention(q, k, k, options, l);
  shape s = k.shape();
  const std::int64_t keys = k.extent(-3);
  s[-1] = keys;
  const array one = astype(iota(i32, {keys, 1, keys}, 0, l) == iota(i32, {keys, 1, keys}, 2, l), k.dtype(), l);
  return swapaxes(dot_product_attention(q, k, broadcast_to(one, s, l), options, l), -3, -2, l);
}

}  // namespace tokamax
