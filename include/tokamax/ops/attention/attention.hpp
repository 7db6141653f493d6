// tokamax/ops/attention/attention.hpp: the op attention and its gradients, which devices have kernels for.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>   // slice_in_dim
#include <tokamax/lax/reduce.hpp>           // max, sum
#include <tokamax/lax/stop_gradient.hpp>    // the maximum is a constant shift
#include <tokamax/ops/attention/plain.hpp>  // attention_scores

namespace tokamax {

constexpr arrays attention(const arrays& operands, attention_attributes options,
                           source_line l = source_line::current());
constexpr arrays attention_vjp(const arrays& operands, attention_attributes options,
                               source_line l = source_line::current());

namespace detail {

/// Is key k in one of the ranges [B, N, T, 2 R] of a query? [B, N, T, S]
constexpr array in_ranges(const array& ranges, const array& k, std::int64_t count) {
  array any_of;
  for (std::int64_t r = 0; r < count; ++r) {
    const array inside =
        logical_and(k >= slice_in_dim(ranges, 2 * r, 2 * r + 1, 3), k < slice_in_dim(ranges, 2 * r + 1, 2 * r + 2, 3));
    any_of = of_existing(any_of, inside, [](const array& a, const array& b) { return logical_or(a, b); });
  }
  return any_of;
}

/// The terms among the operands of a call, from operand `first` on, and what its attributes hide. Their order is bias,
/// ranges, segments of queries and of keys, mask.
constexpr score_terms terms_of(const call& c, int first) {
  const auto o = c.attrs<attention_attributes>();
  score_terms terms{.soft_cap = o.soft_cap};
  if (o.has_bias) terms.bias = c[first];
  if (o.has_mask) terms.seen = c[c.count - 1];
  const array q = iota(i32, {1, 1, c[0].extent(1), 1}, 2), k = iota(i32, {1, 1, 1, c[1].extent(1)}, 3);
  const auto require = [&](const array& more) { terms.seen = both(terms.seen, more, {}); };
  if (o.ranges > 0) require(in_ranges(c[first + o.has_bias], k, o.ranges));
  const int segments = first + o.has_bias + (o.ranges > 0);
  if (o.has_segments) require(c[segments] == c[segments + 1]);
  if (o.causal) require(q >= k);
  if (o.left >= 0) require(k >= q - reach(o.left));
  if (o.right >= 0) require(k <= q + reach(o.right));
  return terms;
}

constexpr bool broadcasts_to_pairs(const array& x, const shape& pairs) {
  bool fits = x.rank() == 4;
  for (int i = 0; fits && i < 4; ++i) fits = x.extent(i) == 1 || x.extent(i) == pairs[i];
  return fits;
}
/// Rejects a call whose number of operands, or one of whose terms, does not fit.
constexpr void require_terms(const call& c, int first) {
  const auto o = c.attrs<attention_attributes>();
  const shape pairs{c[0].extent(0), c[0].extent(2), c[0].extent(1), c[1].extent(1)};
  const int count = first + o.has_bias + (o.ranges > 0) + 2 * o.has_segments + o.has_mask;
  if (c.count != count)
    return void(c.fail(message(c.self->name) << ": operands", message() << c.count, message() << count));
  int next = first;
  const auto require = [&](const char* what, dtype type, const shape& s, const char* expected) {
    const array& x = c[next++];
    if (x.dtype() != type || !broadcasts_to_pairs(x, s))
      c.fail(message(c.self->name) << ": " << what, x.type(), message(expected) << s);
  };
  if (o.has_bias) require("bias", carrying(c[0].dtype()), pairs, "floats that broadcast to ");
  if (o.ranges > 0) require("ranges", i32, {pairs[0], pairs[1], pairs[2], 2 * o.ranges}, "i32 that broadcasts to ");
  if (o.has_segments) {
    require("q_segments", i32, {pairs[0], 1, pairs[2], 1}, "i32 that broadcasts to ");
    require("k_segments", i32, {pairs[0], 1, 1, pairs[3]}, "i32 that broadcasts to ");
  }
  if (o.has_mask) require("mask", bool_, pairs, "booleans that broadcast to ");
}

/// The weights of attention, computed again, and the cotangents of the scores before bias and soft cap.
struct attention_weights {
  const attention_layout& at;
  score_terms terms;
  array s, p;  // [B, N, T, S]

  constexpr attention_weights(const attention_layout& layout, const array& q, const array& k, const array& lse,
                              const array& correction, const score_terms& changes)
      : at(layout), terms(changes), s(attention_scores(at, q, k, terms, unchanged_scores)) {
    p = exp(s - per_row(lse)) * per_row(correction);
  }
  static constexpr array per_row(const array& x) { return expand_dims(x, -1); }
  /// p * inner where scores are seen, times the slope of the soft cap.
  constexpr array score_cotangents(const array& inner) const {
    array ds = p * inner, capped = s;
    if (terms.seen.exists()) {
      ds = select(terms.seen, ds, 0.0f);
      capped = select(terms.seen, s, 0.0f);
    }
    if (terms.soft_cap == 0) return ds;
    const array y = capped / terms.soft_cap;
    return ds * (1.0f - y * y);
  }
  /// The cotangents of the scores for those of the result and, if it exists, of lse.
  constexpr array operator()(const array& v, const array& out, const array& ct, const array& ct_lse) const {
    const array d = at.per_query(ct);
    const array delta = sum(d * at.per_query(out), {{-1}, true});  // [B, K, G, T, 1]
    array inner = reshape(at.times_keys(d, at.per_key(v)) - delta, s.shape());
    if (ct_lse.exists()) inner = inner + per_row(ct_lse);
    return score_cotangents(inner);
  }
};

/// The sum of x over the axes along which an array of these extents repeats.
constexpr array sum_to_extents(const array& x, const shape& s) {
  axes repeated;
  for (int i = 0; i < x.rank(); ++i)
    if (s[i] == 1 && x.extent(i) != 1) repeated.push_back(i);
  if (repeated.rank() == 0) return x;
  return sum(x, {repeated, true});
}

/// The batch rule of ops whose operands all have a batch as axis 0: the new axis is merged into it. Biases and masks, from
/// operand `terms` on, may have one entry for all, but for operand `whole`.
constexpr arrays joined_batch(const call& c, int terms, int whole = -1) {
  arrays in;
  const std::int64_t batch = c[0].extent(c.batched(0) ? 1 : 0);
  for (int i = 0; i < c.count; ++i) {
    array x = c[i];
    if (i >= terms && i != whole && !c.batched(i) && x.extent(0) == 1) {
      in.push_back(x);
      continue;
    }
    x = with_batch_axis(c, i);
    shape s = x.shape();
    if (s[1] != batch) {
      s[1] = batch;
      x = broadcast_to(x, s);
    }
    shape joined{mul_extent(s[0], s[1])};
    for (int k = 2; k < x.rank(); ++k) joined.push_back(s[k]);
    in.push_back(reshape(x, joined));
  }
  arrays out = bind_all(*c.self, in.data(), in.count(), c.attribute_words(), c.where);
  for (array& y : out) {
    shape s{c.batch_size, div_extent(y.extent(0), c.batch_size)};
    for (int i = 1; i < y.rank(); ++i) s.push_back(y.extent(i));
    y = reshape(y, s);
  }
  return out;
}

/// `products` products of 2 T S H operations and T S exponentials for each head, for the pairs of queries and keys that
/// attributes do not hide.
constexpr op_cost attention_cost(const call& c, int products) {
  const double keys = static_cast<double>(c[1].extent(1)), pairs = static_cast<double>(c[0].size()) * keys;
  const auto o = c.attrs<attention_attributes>();
  double share = o.causal ? 0.5 : 1.0;
  if (o.left >= 0 && (o.causal || o.right >= 0)) {
    const double seen = static_cast<double>(o.left + 1 + (o.causal ? 0 : o.right));
    share = keys > 0 && seen < keys * share ? seen / keys : share;
  }
  op_cost cost = product_cost(products * 2.0 * pairs * share, c[0].dtype(), o.algorithm);
  cost.transcendentals = pairs * share / static_cast<double>(c[0].extent(-1));
  return cost;
}

/// The number of operands of attention_vjp before its terms.
constexpr int terms_of_vjp(const attention_attributes& o) { return o.has_lse_cotangent ? 8 : 7; }

/// The batch rule of attention_vjp. A bias that all entries share has a gradient for each of them.
constexpr arrays attention_vjp_batch(const call& c) {
  const auto o = c.attrs<attention_attributes>();
  const int bias = terms_of_vjp(o);
  arrays d = joined_batch(c, bias, o.bias_gradient ? bias : -1);
  if (o.bias_gradient && c[bias].extent(c.batched(bias) ? 1 : 0) != d[3].extent(1)) d[3] = sum(d[3], {{1}, true});
  return d;
}
}  // namespace detail

/// The gradients of attention. They compute the probabilities again, from the scores and the saved normalisers.
inline constexpr op attention_vjp_p{
    .name = "attention_vjp",
    .precision = {.product_operands = 3, .kernels_in_f32 = true},
    .cost = {.operations = [](const call& c) { return detail::attention_cost(c, 5); }},
    .attributes = schema<attention_attributes>,
    .infer_all = [](const call& c) -> types {
      const auto o = c.attrs<attention_attributes>();
      const int terms = detail::terms_of_vjp(o);
      types results{c[0].type(), c[1].type(), c[2].type()};
      if (!detail::has_products(c[0].dtype()) || !detail::attention_shapes_fit(c[0], c[1], c[2]))
        c.fail("attention_vjp: k, v", message(c[1].type()) << ", " << c[2].type(),
               message("[B,S,K,H] for q ") << c[0].type());
      else if (detail::extents_are(c, 3, 3, c[0].shape()) && detail::extents_are(c, 6, 6, c[0].shape()) &&
               detail::extents_are(c, 4, 5, {c[0].extent(0), c[0].extent(2), c[0].extent(1)}) &&
               (terms == 7 || detail::extents_are(c, 7, 7, c[4].shape())))
        detail::require_terms(c, terms);
      if (o.bias_gradient && o.has_bias && c.count > terms) results.push_back(c[terms].type());
      return results;
    },

    // p = exp(s - lse) * correction;  dv = p^T do;  dbias = ds = p * (do v^T - sum(do * out) + dlse) * slope of the cap;
    // dq = scale ds k;  dk = scale ds^T q
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<attention_attributes>();
      const int terms = detail::terms_of_vjp(o);
      const detail::attention_layout at(c[0], c[1], o);
      const detail::attention_weights weights(at, c[0], c[1], c[4], c[5], detail::terms_of(c, terms));
      array ct_lse;
      if (o.has_lse_cotangent) ct_lse = c[7];
      const array of_scores = weights(c[2], c[3], c[6], ct_lse);
      const array ds = at.grouped(of_scores * o.scale), p = at.grouped(weights.p);
      arrays d{at.merge_query(at.sum_keys(ds, at.per_key(c[1])), c[0].dtype()),
               at.merge_key(at.sum_queries(ds, at.per_query(c[0])), c[1].dtype()),
               at.merge_key(at.sum_queries(p, at.per_query(c[6])), c[2].dtype())};
      if (o.bias_gradient) d.push_back(detail::sum_to_extents(of_scores, c[terms].shape()));
      return d;
    },
    .batch = [](const call& c) -> arrays { return detail::attention_vjp_batch(c); },
    .kernels = kernels_of<attention_vjp_p>,
};

/// Attention. For the backward pass it also returns lse, the logarithm of each query's normaliser, and a correction for
/// the rounding of lse: the probabilities are exp(scores - lse) * correction. In exact arithmetic the correction is 1.
inline constexpr op attention_p{
    .name = "attention",
    .precision = {.product_operands = 3, .kernels_in_f32 = true},
    .cost = {.operations = [](const call& c) { return detail::attention_cost(c, 2); }},
    .attributes = schema<attention_attributes>,
    .infer_all = [](const call& c) -> types {
      array_type lse{carrying(c[0].dtype()), false, {}};
      if (!detail::has_products(c[0].dtype()) || c[0].rank() != 4)
        c.fail("attention: q", c[0].type(), "floats [B,T,N,H]");
      else if (!detail::attention_shapes_fit(c[0], c[1], c[2]))
        c.fail("attention: k, v", message(c[1].type()) << ", " << c[2].type(),
               message("[B,S,K,H] for q ") << c[0].type());
      else if (is_dyn(c[0].extent(3)))
        c.fail("dynamic extent: attention", c[0].type(), "heads of a known size");
      else {
        detail::require_terms(c, 3);
        lse.shape = {c[0].extent(0), c[0].extent(2), c[0].extent(1)};
      }
      return {c[0].type(), lse, lse};
    },
    .compose = [](const call& c) -> arrays {
      const detail::attention_layout at(c[0], c[1], c.attrs<attention_attributes>());
      const detail::score_terms terms = detail::terms_of(c, 3);
      const partial_attention y = detail::plain_attention(at, c[0], c[1], c[2], terms, detail::unchanged_scores);
      const array lse = log(y.denominator) + y.max;
      array correction = ones_like(lse);
      if (terms.seen.exists()) correction = stop_gradient(exp(lse - y.max) / y.denominator);  // lse may be one score
      return {y.out, lse, correction};
    },
    .vjp = [](const call& c) -> arrays {
      auto o = c.attrs<attention_attributes>();
      array ct = c.cotangents[0];
      const array ct_lse = c.cotangents[1];
      arrays d(static_cast<std::size_t>(c.count));
      if (!ct.exists() && !ct_lse.exists()) return d;
      if (!ct.exists()) ct = zeros_like(c.outputs[0]);
      o.has_lse_cotangent = ct_lse.exists();
      o.bias_gradient = o.has_bias && c.needs(3);
      arrays in{c[0], c[1], c[2], c.outputs[0], c.outputs[1], c.outputs[2], ct};
      if (o.has_lse_cotangent) in.push_back(ct_lse);
      for (int i = 3; i < c.count; ++i) in.push_back(c[i]);
      const arrays found = attention_vjp(in, o, {});
      for (int i = 0; i < (o.bias_gradient ? 4 : 3); ++i) d[i] = found[i];
      return d;
    },
    .batch = [](const call& c) -> arrays { return detail::joined_batch(c, 3); },
    .kernels = kernels_of<attention_p>,
};

/// {out, lse, correction}: dot_product_attention, the logarithm of each query's normaliser, and the correction for its
/// rounding. The operands are q, k, v and those that the attributes announce.
/// shapes  q [B, T, N, H], k and v [B, S, K, H] -> [B, T, N, H], [B, N, T], [B, N, T]
constexpr arrays attention(const arrays& operands, attention_attributes options, source_line l) {
  const array& q = operands[0];
  if (options.scale == 0 && q.rank() > 0) options.scale = detail::inverse_sqrt(static_cast<double>(q.extent(-1)));
  return bind_all(described<attention_p>(), operands.data(), operands.count(), pack(options), l);
}

/// The cotangents {dq, dk, dv}, and that of the bias if options.bias_gradient, of attention from q, k, v, out, lse,
/// correction, the cotangent of `out`, and the other operands that the attributes announce; options.scale is the number itself.
constexpr arrays attention_vjp(const arrays& operands, attention_attributes options, source_line l) {
  return bind_all(described<attention_vjp_p>(), operands.data(), operands.count(), pack(options), l);
}

}  // namespace tokamax
