// tokamax/ops/attention/plain.hpp: attention in plain ops, with everything that may be done to its scores.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/options.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>                       // sum
#include <tokamax/lax/stop_gradient.hpp>                // the maximum is a constant shift
#include <tokamax/ops/attention/layout.hpp>             // attention_layout
#include <tokamax/ops/attention/mask.hpp>               // for its users: both
#include <tokamax/ops/attention/partial_attention.hpp>  // partial_attention

namespace tokamax::detail {

/// What happens to scores [B, N, T, S] before they become weights. The arrays may be missing, and their extents may be 1.
struct score_terms {
  array bias = {};      // [B, N, T, S] added
  array seen = {};      // [B, N, T, S] booleans; other scores become masked_score
  double soft_cap = 0;  // 0: none
  dtype logits = dtype::none;
  array sinks = {};         // [1, N, 1, 1] one more score for each query
  array dropout_mask = {};  // [B, N, T, S] booleans
  double dropout_rate = 0;
  bool normalize = true;
};

/// JAX's score of a hidden key: 0.7 of the lowest number of the dtype of the scores.
constexpr double masked_score_of(dtype logits) { return logits == f16 ? -0.7 * 65504 : masked_score; }

/// A function for attention_scores that changes nothing.
inline constexpr auto unchanged_scores = [](const array& s, const array&) { return s; };

/// scale * q k^T, changed by the terms and by modify(scores, unscaled scores), as numbers of at least f32: [B, N, T, S].
template <class Modify>
constexpr array attention_scores(const attention_layout& at, const array& q, const array& k, const score_terms& terms,
                                 Modify modify) {
  const array products = at.times_keys(at.per_query(q), at.per_key(k));  // [B, K, G, T, S]
  array s = reshape(products, {q.extent(0), q.extent(2), q.extent(1), k.extent(1)});
  const dtype sums = s.dtype();
  if (terms.logits != dtype::none) s = astype(s, terms.logits);
  s = modify(s * at.options.scale, s);
  if (terms.bias.exists()) s = s + astype(terms.bias, s.dtype());
  if (terms.soft_cap != 0) s = tanh(s / terms.soft_cap) * terms.soft_cap;
  if (terms.seen.exists()) s = select(terms.seen, s, masked_score_of(s.dtype()));
  if (bits_of(s.dtype()) < bits_of(sums)) s = astype(s, sums);
  return s;
}

/// The weighted values of q [B, T, N, H], k [B, S, K, H] and v [B, S, K, h]: out [B, T, N, h], and the highest score and the
/// sum of weights of each query [B, N, T].
template <class Modify>
constexpr partial_attention plain_attention(const attention_layout& at, const array& q, const array& k, const array& v,
                                            const score_terms& terms, Modify modify) {
  const array s = attention_scores(at, q, k, terms, modify);
  array top = stop_gradient(detail::reduce(described<reduce_max_p>(), s, {{-1}, true}, {}));  // [B, N, T, 1]
  array sinks;
  if (terms.sinks.exists()) {
    sinks = astype(terms.sinks, s.dtype());
    top = maximum(top, stop_gradient(sinks));
  }
  const array e = exp(s - top);
  array total = sum(e, {{-1}, true});
  if (sinks.exists()) total = total + exp(sinks - top);
  array p = e;
  if (terms.normalize) p = e / total;
  if (terms.dropout_mask.exists()) p = select(terms.dropout_mask, p / (1 - terms.dropout_rate), 0.0f);
  const shape rows{s.extent(0), s.extent(1), s.extent(2)};
  return {at.merge_query(at.sum_keys(at.grouped(p), at.per_key(v)), q.dtype()), reshape(top, rows),
          reshape(total, rows)};
}

}  // namespace tokamax::detail
