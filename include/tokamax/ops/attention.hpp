// tokamax/ops/attention.hpp: scaled dot-product attention with grouped heads, biases, masks, windows and sinks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/ops/attention/fast_attention.hpp>  // fast_attention
#include <tokamax/ops/attention/flex_blocks.hpp>     // flex_problem
#include <tokamax/ops/attention/with_options.hpp>    // attention_with_options

namespace tokamax {

namespace detail {

/// Attention in plain ops: many scores in blocks, and few at once.
constexpr array composed_attention(const array& q, const array& k, const array& v, const attention_options& o,
                                   source_line l) {
  const attention_extents at(q, k, l);
  if (!is_cut_in_blocks({at.all_batches(), at.heads, at.queries, at.keys}, o))
    return attention_with_options(q, k, v, o, {}, unchanged_scores, l).out;
  const auto same = [](const array& s, const array&, const array&, const array&, const array&) { return s; };
  const auto every = [](const array&, const array&, const array&, const array&) { return array(); };
  const flex_problem<decltype(same), decltype(every)> blocks(same, every, at, o, k);
  return at.unflat(blocks(at.flat(q), at.flat(k), at.flat(v)));
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
/// A query that sees no key gets the mean of all values. If its biases are all -infinity, plain ops give NaN, as jax.nn does,
/// and the CPU's kernels give the mean. The results of queries at or after their length are zero, as in jax.nn.
///
/// shapes  q [..., T, N, H], k [..., S, K, H], v [..., S, K, h], N a multiple of K -> [..., T, N, h], with any number of
///         batch axes; those of the other arrays are in attention_options
/// dtypes  any float; scores and softmax in f32, of f64 in f64; the operands of both products are f32, or bf16 for bf16 arrays and
///         under with_precision<bf16_products>, summed in f32; the result has the dtype of q
/// errors  "attention: q", "attention: k, v", "dot_product_attention: " and the name of an option
/// NaN     a NaN among the scores of a query makes its result NaN. With the CPU's kernels, a NaN or an infinity in a query, key,
///         value or cotangent reaches the results and gradients of what sees it, and no others. Plain ops multiply what is
///         hidden by 0, as JAX does, so it may reach all of them
/// speed   blocks of keys that no query of a block sees by a mask, a window, lengths or segments cost nothing
/// choice  the op attention has the implementations kernel and compose; of f64, and with dropout_mask, logits_dtype,
///         value_algorithm or without normalize_output, there is compose alone
/// memory  O(T + S) for a head, and the gradient of the bias; a bias together with one of the options dropout_mask, logits_dtype,
///         value_algorithm and normalize_output needs the scores [..., N, T, S], which have the size of the bias
/// source  jax.nn.dot_product_attention, tokamax.dot_product_attention; Vaswani et al. 2017, arXiv:1706.03762, eq. 1; the
///         memory-saving form is Dao et al. 2022, arXiv:2205.14135; sinks are those of Xiao et al. 2023, arXiv:2309.17453
constexpr array dot_product_attention(const array& q, const array& k, const array& v, attention_options options = {},
                                      source_line l = source_line::current()) {
  if (!detail::attention_operands_fit(q, k, v, l) || !detail::attention_options_fit(q, options, l)) return q;
  if (options.scale == 0) options.scale = detail::inverse_sqrt(static_cast<double>(q.extent(-1)));
  const array query = detail::for_products(q, l), key = detail::for_products(k, l), value = detail::for_products(v, l);
  array y;
  const bool one_op = detail::is_attention_op(options) && query.dtype() != f64;
  if (!one_op && !options.implementation.allows("compose")) {
    reject(q, l, "attention: implementation", query.dtype() == f64 ? "f64" : "an option that only compose has",
           "compose");
    return q;
  }
  if (detail::is_attention_op(options))
    y = detail::fast_attention(query, key, value, options, l);
  else
    y = detail::composed_attention(query, key, value, options, l);
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
