// tokamax/ops/attention/with_options.hpp: attention with any options in plain ops, from arrays with any batch axes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/options.cpp
#pragma once

#include <tokamax/ops/attention/operands.hpp>  // attention_extents

namespace tokamax::detail {

constexpr bool attention_options_fit(const array& q, const attention_options& o, source_line l) {
  const char* wrong = nullptr;
  message expected;
  if (!(o.logits_soft_cap >= 0))
    wrong = "dot_product_attention: logits_soft_cap", expected << "0 or more";
  else if (!(o.dropout_rate >= 0 && o.dropout_rate < 1))
    wrong = "dot_product_attention: dropout_rate", expected << "a number from 0 to below 1";
  else if (o.local_window_size.left < -1 || o.local_window_size.right < -1)
    wrong = "dot_product_attention: local_window_size", expected << "numbers from 0 on";
  else if (o.logits_dtype != dtype::none && !is_floating(o.logits_dtype))
    wrong = "dot_product_attention: logits_dtype", expected << "a floating dtype";
  else if (o.sinks.exists() && o.sinks.shape() != shape{q.extent(-2)})
    wrong = "dot_product_attention: sinks", expected << "[" << q.extent(-2) << "], one for each head";
  if (!wrong) return true;
  reject(q, l, wrong, "another value", expected);
  return false;
}

/// y [B, T, N, h] with zeros for queries at or after their length.
constexpr array only_valid_queries(const attention_extents& at, const attention_positions& positions,
                                   const attention_options& o, const array& y) {
  if (!o.query_seq_lengths.exists()) return y;
  const source_line l = at.where;
  const array lengths = at.integers("query_seq_lengths", o.query_seq_lengths, {});
  const array inside = expand_dims(expand_dims(positions.q, -1, l), -1, l) <  // [B, T, 1, 1]
                       located(reshape(lengths, {lengths.extent(0), 1, 1, 1}, l), l);
  return select(inside, y, 0.0f, l);
}

/// Attention of arrays that products take, in plain ops. `more` are further booleans [B or 1, N or 1, T or 1, S or 1] of keys
/// that queries see, or do not exist. `modify` is that of attention_scores.
template <class Modify>
constexpr partial_attention attention_with_options(const array& q, const array& k, const array& v,
                                                   const attention_options& o, const array& more, Modify modify,
                                                   source_line l) {
  const attention_extents at(q, k, l);
  const attention_positions positions(at, o);
  score_terms terms{.seen = both(seen_pairs(whole_mask(at, o), positions, l), more, l),
                    .soft_cap = o.logits_soft_cap,
                    .logits = o.logits_dtype,
                    .dropout_rate = o.dropout_rate,
                    .normalize = o.normalize_output};
  if (o.bias.exists()) terms.bias = at.per_pair("bias", o.bias);
  if (o.dropout_mask.exists()) terms.dropout_mask = at.booleans("dropout_mask", o.dropout_mask);
  if (o.sinks.exists()) terms.sinks = reshape(o.sinks, {1, o.sinks.extent(0), 1, 1}, l);
  const array queries = at.flat(q), keys = at.flat(k), values = at.flat(v);
  attention_layout layout(queries, keys, {.scale = o.scale, .algorithm = o.algorithm});
  if (o.value_algorithm != dot_algorithm::unspecified) layout.of_values = o.value_algorithm;
  partial_attention y = plain_attention(layout, queries, keys, values, terms, modify);
  y.out = only_valid_queries(at, positions, o, y.out);
  return {at.unflat(y.out), at.unflat(y.max), at.unflat(y.denominator)};
}

/// x in a dtype that products take.
constexpr array for_products(const array& x, source_line l) {
  if (has_products(x.dtype())) return x;
  return astype(x, f32, l);
}

}  // namespace tokamax::detail
