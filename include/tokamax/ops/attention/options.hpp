// tokamax/ops/attention/options.hpp: how dot_product_attention is asked to behave.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/options.cpp
#pragma once

#include <tokamax/core/scope/use_implementation.hpp>  // implementation_names
#include <tokamax/lax/dot_general.hpp>                // dot_algorithm
#include <tokamax/ops/attention/mask.hpp>             // attention_mask

namespace tokamax {

/// The mask of attention_options: booleans, or an attention_mask.
struct any_attention_mask : attention_mask {
  constexpr any_attention_mask() = default;
  constexpr any_attention_mask(const array& seen) : attention_mask{.bool_mask = seen} {}  // NOLINT: booleans are a mask
  constexpr any_attention_mask(const attention_mask& m) : attention_mask(m) {}            // NOLINT
};

/// How dot_product_attention is asked to behave: `dot_product_attention(q, k, v, {.bias = b, .is_causal = true})`.
/// Extents of arrays may be 1 in place of B, N, T and S, and leading axes may be left out.
struct attention_options {
  array bias = {};                          ///< [B, N, T, S] added to the scaled scores
  any_attention_mask mask = {};             ///< booleans [B, N, T, S], or an attention_mask
  double scale = 0;                         ///< of the scores; 0 means 1 / sqrt(H)
  bool is_causal = false;                   ///< query t sees keys 0 ... t
  array query_seq_lengths = {};             ///< [B] integers; results of later queries are zero
  array key_value_seq_lengths = {};         ///< [B] integers; later keys are not seen
  attention_window local_window_size = {};  ///< the keys around its own position that a query sees
  double logits_soft_cap = 0;               ///< c: scores become c * tanh(score / c); 0 means none
  dtype logits_dtype = dtype::none;         ///< to which scores are rounded; none: they keep f32, or f64
  array dropout_mask = {};  ///< [B, N, T, S] true for the weights that are kept, and divided by 1 - rate
  double dropout_rate = 0;
  array sinks = {};      ///< [N] scores that take part in the softmax of each query of a head, and have no value
  array q_indices = {};  ///< [B, T] integers, the positions of the queries if these are permuted or a part
  array k_indices = {};  ///< [B, S] the same for keys
  dot_algorithm algorithm = dot_algorithm::unspecified;  ///< of all products; that of bf16 arrays is bf16_bf16_f32
  dot_algorithm value_algorithm = dot_algorithm::unspecified;  ///< of products with values, if it is another one
  bool normalize_output = true;                                ///< divide by the sum of the weights?
  implementation_names implementation = {};                    ///< of the op attention, see use_implementation
};

}  // namespace tokamax
