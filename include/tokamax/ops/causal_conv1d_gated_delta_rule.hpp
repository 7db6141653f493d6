// tokamax/ops/causal_conv1d_gated_delta_rule.hpp: the middle of a layer of Qwen3-Next, from projections to results of heads.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
#pragma once

#include <tokamax/lax/shapes/split.hpp>      // split
#include <tokamax/ops/causal_conv1d.hpp>     // causal_conv1d
#include <tokamax/ops/gated_delta_rule.hpp>  // gated_delta_rule

namespace tokamax {

/// The states of many sequences, in slots: the last inputs of the convolution, and the matrices of the recurrence.
struct gated_delta_pools {
  array conv;       ///< [S, K - 1, C]
  array recurrent;  ///< [S, N, D, E]
};

/// The weights between projections and results of heads.
struct gated_delta_weights {
  array conv;       ///< [C, K]
  array a_log;      ///< [N] logarithms of the rates of decay
  array dt_bias;    ///< [N]
  array bias = {};  ///< [C] of the convolution; it may not exist
};

/// The result of causal_conv1d_gated_delta_rule, and what the next call goes on from.
struct gated_delta_result {
  array out;  ///< [T, N, E]
  gated_delta_pools pools;
};

namespace detail {

/// How many key heads there are, which follows from the other sizes; -1 if the operands do not fit each other.
constexpr std::int64_t heads_of_keys(const array& qkv, const array& b, const array& a, const gated_delta_pools& pools,
                                     const gated_delta_weights& weights) {
  if (qkv.rank() != 2 || pools.recurrent.rank() != 4 || pools.conv.rank() != 3) return -1;
  const shape& s = pools.recurrent.shape();
  for (const std::int64_t e : {qkv.extent(1), s[1], s[2], s[3]})
    if (is_dyn(e)) return -1;
  for (const array* x : {&b, &a})
    if (!is_floating(x->dtype()) || x->shape() != shape{qkv.extent(0), s[1]}) return -1;
  for (const array* x : {&weights.a_log, &weights.dt_bias})
    if (!is_floating(x->dtype()) || x->shape() != shape{s[1]}) return -1;
  const std::int64_t keys = qkv.extent(1) - s[1] * s[3];  // of queries and keys together
  if (pools.conv.extent(0) != s[0] || s[2] == 0 || keys <= 0 || keys % (2 * s[2]) != 0) return -1;
  return keys / (2 * s[2]);
}

}  // namespace detail

/// A convolution of queries, keys and values over their last tokens, silu, and the gated delta rule with queries and keys of
/// length one. Sequences are packed, and their states lie in slots: prefill, chunks of it, and decoding in one call. A
/// program that was given the pools to keep writes into their memory.
///
///   q, k, v = split(silu(conv(qkv)));  beta = sigmoid(b);  g = -exp(a_log) * softplus(a + dt_bias)
///   out = gated_delta_rule(q / |q|, k / |k|, v, g, beta)
///
/// shapes  qkv [T, C] with C = 2 H D + N E, b and a [T, N] -> out [T, N, E], the pools; H follows from C
/// dtypes  any floats; gates, states of the recurrence and sums are f32, f64 for f64; out has the dtype of qkv
/// errors  "causal_conv1d_gated_delta_rule: operands", and those of causal_conv1d and gated_delta_rule
/// source  tokamax.CausalConv1dGatedDeltaRule, whose seq_lens - query lengths > 0 is `continues` here
constexpr gated_delta_result causal_conv1d_gated_delta_rule(const array& qkv, const array& b, const array& a,
                                                            const gated_delta_pools& pools,
                                                            const gated_delta_weights& weights,
                                                            const packed_sequences& sequences,
                                                            source_line l = source_line::current()) {
  const std::int64_t heads = detail::heads_of_keys(qkv, b, a, pools, weights);
  if (heads < 0 || !is_floating(qkv.dtype())) {
    const array all[] = {qkv, b, a, pools.recurrent};
    reject(all, 4, l, "causal_conv1d_gated_delta_rule: operands",
           message(qkv.type()) << ", " << b.type() << ", " << pools.conv.type() << ", " << pools.recurrent.type(),
           "floats [T,2HD+NE], [T,N], [S,K-1,2HD+NE], [S,N,D,E]");
    return {qkv, pools};
  }
  const std::int64_t tokens = qkv.extent(0), n = pools.recurrent.extent(1), d = pools.recurrent.extent(2),
                     e = pools.recurrent.extent(3);
  const auto activation = [](const array& x) { return silu(x); };
  const causal_conv1d_result mixed =
      causal_conv1d(qkv, weights.conv, pools.conv, sequences, weights.bias, activation, l);
  if (mixed.out.shape() != qkv.shape()) return {qkv, pools};
  const arrays parts = split(mixed.out, {heads * d, heads * d, n * e}, -1, l);
  const dtype type = carrying(qkv.dtype());
  const array rate = exp(astype(weights.a_log, type, l)), wide = astype(a, type, l) + astype(weights.dt_bias, type, l);
  const array g = softplus(wide) * -rate, beta = sigmoid(astype(b, type, l));
  const gated_delta_rule_result y = gated_delta_rule(
      reshape(parts[0], {tokens, heads, d}, l), reshape(parts[1], {tokens, heads, d}, l),
      reshape(parts[2], {tokens, n, e}, l), g, beta, pools.recurrent, sequences, {.normalize_qk = true}, l);
  return {y.out, {mixed.state, y.state}};
}

}  // namespace tokamax
