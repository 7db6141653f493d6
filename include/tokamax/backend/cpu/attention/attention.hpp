// tokamax/backend/cpu/attention/attention.hpp: scaled dot-product attention and its cotangents without the matrix of scores.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/attention/backward.hpp>     // attention_backward
#include <tokamax/backend/cpu/attention/few_queries.hpp>  // few_query_attention
#include <tokamax/backend/cpu/attention/forward.hpp>      // attention_forward

namespace tokamax::cpu_backend {

/// Scaled dot-product attention, one block of scores at a time. Few queries read each key for themselves.
///
///   out = softmax(scale * query key^T, masked to j <= i when causal) value,  lse = log of the sum of exponentials
///
/// shapes  query, out [B, T, N, H], key, value [B, S, K, H], normaliser [B, N, T] dense or null
/// dtypes  each view is f32 or bf16. With the `precision` bfloat16, the operands of both products are rounded to bfloat16,
///         the probabilities too. Scores, sums and lse are f32
/// memory  O(H) for each query and key; no matrix of scores
/// source  Dao 2023, arXiv:2307.08691, algorithm 1; semantics of jax.nn.dot_product_attention (S = 0 gives zeros)
inline void attention(const attention_shape& s, const heads_view<const void>& query, const heads_view<const void>& key,
                      const heads_view<const void>& value, const heads_view<void>& out,
                      const attention_normalisers& normaliser, gemm_precision precision = gemm_precision::f32) {
  if (detail::takes_rows(s, query, key, value, precision))
    return detail::few_query_attention(s, query, key, value, out, normaliser);
  detail::attention_forward(s, detail::attention_kernels_for(best_gemm_machine(), precision), query, key, value, out,
                            normaliser);
}

/// The cotangents of attention, from its result and normalisers. The probabilities are computed again.
///
/// shapes  as attention; dquery like query, dkey and dvalue like key, more.dbias like the bias; none may overlap an input
/// dtypes  as attention; with bfloat16 the cotangents of the scores are rounded too
/// memory  O(H) for each query and key, and 64 MB or less for sums of a bias that heads or entries of the batch share; in
///         parallel over batch, key heads and parts of the keys
/// source  Dao 2023, arXiv:2307.08691, algorithm 2
inline void attention_backward(const attention_shape& s, const heads_view<const void>& query,
                               const heads_view<const void>& key, const heads_view<const void>& value,
                               const heads_view<const void>& out, const float* lse, const float* correction,
                               const heads_view<const void>& dout, const heads_view<void>& dquery,
                               const heads_view<void>& dkey, const heads_view<void>& dvalue,
                               gemm_precision precision = gemm_precision::f32,
                               const attention_more_cotangents& more = {}) {
  const detail::attention_kernels machine = detail::attention_kernels_for(best_gemm_machine(), precision);
  const detail::backward_blocks blocks(s, machine.tiles);
  detail::attention_backward(
      {s, machine, blocks, query, key, value, out, lse, correction, dout, dquery, dkey, dvalue, more});
}

}  // namespace tokamax::cpu_backend
