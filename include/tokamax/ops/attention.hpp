// tokamax/ops/attention.hpp: scaled dot-product attention with grouped heads, biases, masks, windows and sinks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/ops/attention/attention.hpp>     // attention
#include <tokamax/ops/attention/with_options.hpp>  // attention_with_options

namespace tokamax {

namespace detail {

/// Is this attention what the op of that name does?
constexpr bool is_attention_op(const array& q, const array& v, const attention_options& o) {
  const attention_mask& m = o.mask;
  const bool masked = m.bool_mask.exists() || m.q_start.exists() || m.q_end.exists() || m.k_start.exists() ||
                      m.k_end.exists() || m.is_causal;
  const bool indexed = o.q_indices.exists() || o.k_indices.exists();
  const bool sized = o.query_seq_lengths.exists() || o.key_value_seq_lengths.exists() || o.local_window_size.limits();
  const bool changed = o.bias.exists() || o.sinks.exists() || o.dropout_mask.exists() || o.logits_soft_cap != 0;
  return !masked && !indexed && !sized && !changed && o.logits_dtype == dtype::none && o.normalize_output &&
         v.extent(-1) == q.extent(-1);
}

}  // namespace detail

/// dot_product_attention with the highest score and the sum of weights of each query, from which combine_partial_results
/// makes the attention to more keys.
///
/// shapes  out [..., T, N, h], max and denominator [..., N, T]
/// errors  those of dot_product_attention
/// source  tokamax.dot_product_attention(return_residuals=True)
constexpr partial_attention dot_product_attention_residuals(const array& q, const array& k, const array& v,
                                                            attention_options options = {},
                                                            source_line l = source_line::current()) {
  if (!detail::attention_operands_fit(q, k, v, l) || !detail::attention_options_fit(q, options, l)) return {q, q, q};
  if (options.scale == 0) options.scale = detail::inverse_sqrt(static_cast<double>(q.extent(-1)));
  partial_attention y =
      detail::attention_with_options(detail::for_products(q, l), detail::for_products(k, l), detail::for_products(v, l),
                                     options, {}, detail::unchanged_scores, l);
  y.out = astype(y.out, q.dtype(), l);
  return y;
}

/// Each query's average of the values, weighted by the softmax of its scaled products with the keys.
///
///   s = cap(scale * q k^T + bias), or a very low number where a query does not see a key;  cap(x) = c tanh(x / c)
///   out = softmax(s) v        head n of q meets head n / (N / K) of k and v
///
/// A query that sees no key gets the mean of all values. The results of queries at or after their length are zero, as in
/// jax.nn. A NaN or an infinity in a key or value that a query does not see may reach its result. In JAX it always does,
/// because JAX multiplies by 0.
///
/// shapes  q [..., T, N, H], k [..., S, K, H], v [..., S, K, h], N a multiple of K -> [..., T, N, h], with any number of
///         batch axes; those of the other arrays are in attention_options
/// dtypes  any float; scores and softmax in f32, of f64 in f64; the operands of both products are f32, or bf16 for bf16 arrays and
///         under with_precision<bf16_products>, summed in f32; the result has the dtype of q
/// errors  "attention: q", "attention: k, v", "dot_product_attention: " and the name of an option
/// NaN     a NaN among the scores of a query makes its result NaN; a key that a causal query does not see may hold
///         anything in k, and finite numbers in v
/// memory  O(T + S) for a head if the options are is_causal, scale and algorithm only; others keep the scores [..., N, T, S]
/// source  jax.nn.dot_product_attention, tokamax.dot_product_attention; Vaswani et al. 2017, arXiv:1706.03762, eq. 1; the
///         memory-saving form is Dao et al. 2022, arXiv:2205.14135; sinks are those of Xiao et al. 2023, arXiv:2309.17453
constexpr array dot_product_attention(const array& q, const array& k, const array& v, attention_options options = {},
                                      source_line l = source_line::current()) {
  if (!detail::attention_operands_fit(q, k, v, l) || !detail::attention_options_fit(q, options, l)) return q;
  if (options.scale == 0) options.scale = detail::inverse_sqrt(static_cast<double>(q.extent(-1)));
  const array query = detail::for_products(q, l), key = detail::for_products(k, l), value = detail::for_products(v, l);
  array y;
  if (detail::is_attention_op(q, v, options)) {
    const detail::attention_extents at(q, k, l);
    const attention_attributes a{.causal = options.is_causal, .scale = options.scale, .algorithm = options.algorithm};
    y = at.unflat(attention(at.flat(query), at.flat(key), at.flat(value), a, l)[0]);
  } else {
    y = detail::attention_with_options(query, key, value, options, {}, detail::unchanged_scores, l).out;
  }
  return astype(y, q.dtype(), l);
}

/// The same, where only the keys with a true `mask` are seen.
/// shapes  mask broadcasts to [..., N, T, S]
constexpr array dot_product_attention(const array& q, const array& k, const array& v, const array& mask,
                                      attention_options options = {}, source_line l = source_line::current()) {
  options.mask = any_attention_mask(options.mask & attention_mask{.bool_mask = mask});
  return dot_product_attention(q, k, v, options, l);
}

}  // namespace tokamax
