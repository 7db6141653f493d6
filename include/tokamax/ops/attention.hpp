// tokamax/ops/attention.hpp: scaled dot-product attention with grouped heads, causal or masked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/dot_general.hpp>  // dot_general
#include <tokamax/ops/softmax.hpp>      // softmax

namespace tokamax {

/// How dot_product_attention is asked to behave: `dot_product_attention(q, k, v, {.causal = true})`.
struct attention_options {
  bool causal = false;                                   ///< query t sees keys 0 ... t; hidden values must be finite
  double scale = 0;                                      ///< of the scores; 0 means 1 / sqrt(H)
  dot_algorithm algorithm = dot_algorithm::unspecified;  ///< of all products; that of bf16 arrays is bf16_bf16_f32
};

constexpr arrays attention(const array& q, const array& k, const array& v, attention_options options,
                           source_line l = source_line::current());
constexpr arrays attention_vjp(const array& q, const array& k, const array& v, const array& out, const array& lse,
                               const array& correction, const array& ct, attention_options options,
                               source_line l = source_line::current());

namespace detail {

inline constexpr double masked_score = -0.7 * 3.4028234663852886e38;  // JAX's score of a hidden key, a finite number

constexpr double inverse_sqrt(double x) {  // Newton's method; std::sqrt is no constant expression in clang 19
  double r = 1;
  while (r * r * x > 1) r *= 0.5;
  for (int i = 0; i < 60; ++i) r *= 1.5 - 0.5 * x * r * r;
  return r;
}

// The products of attention. Heads are grouped by the key they share: N = K * G, head n = k * G + g.
//   per query  [B, K, G, T, *]      per key  [B, K, S, *]
struct attention_layout {
  std::int64_t groups;  // G
  attention_options options;
  constexpr explicit attention_layout(const array& q, const array& k, const attention_options& o)
      : groups(q.extent(2) / k.extent(2)), options(o) {
    options.algorithm = algorithm_of(q.dtype(), o.algorithm);
  }

  constexpr array per_query(const array& x) const {  // [B, T, N, H]
    const array y = reshape(carried(x), {x.extent(0), x.extent(1), x.extent(2) / groups, groups, x.extent(3)});
    return transpose(y, {0, 2, 3, 1, 4});
  }
  constexpr array per_key(const array& x) const { return transpose(carried(x), {0, 2, 1, 3}); }  // [B, S, K, H]
  constexpr array per_row(const array& x) const {                                                // [B, N, T]
    return reshape(x, {x.extent(0), x.extent(1) / groups, groups, x.extent(2), 1});
  }
  static constexpr array merge_query(const array& x, dtype type) {  // [B, K, G, T, H] -> [B, T, N, H]
    const array y = transpose(x, {0, 3, 1, 2, 4});
    return astype(reshape(y, {y.extent(0), y.extent(1), mul_extent(y.extent(2), y.extent(3)), y.extent(4)}), type);
  }
  static constexpr array merge_key(const array& x, dtype type) { return astype(transpose(x, {0, 2, 1, 3}), type); }

  constexpr array times_keys(const array& a, const array& b) const {  // [.., T, H], [.., S, H] -> [.., T, S]
    return dot_general(a, b, {{4}, {3}, {0, 1}, {0, 1}, dtype::none, options.algorithm});
  }
  constexpr array sum_keys(const array& p, const array& b) const {  // [.., T, S], [.., S, H] -> [.., T, H]
    return dot_general(p, b, {{4}, {2}, {0, 1}, {0, 1}, dtype::none, options.algorithm});
  }
  constexpr array sum_queries(const array& p, const array& a) const {  // [.., T, S], [.., T, H] -> [.., S, H]
    return dot_general(p, a, {{2, 3}, {2, 3}, {0, 1}, {0, 1}, dtype::none, options.algorithm});
  }
  constexpr array scores(const array& q, const array& k) const {  // [B, K, G, T, S]
    const array s = times_keys(q, k) * options.scale;
    if (!options.causal) return s;
    return select(iota(i32, s.shape(), 3) >= iota(i32, s.shape(), 4), s, masked_score);
  }
};

constexpr bool attention_shapes_fit(const array& q, const array& k, const array& v) {
  return q.rank() == 4 && k.rank() == 4 && v.shape() == k.shape() && q.extent(0) == k.extent(0) &&
         q.extent(3) == k.extent(3) && k.extent(2) > 0 && q.extent(2) % k.extent(2) == 0;
}

/// The batch rule of ops whose operands all have a batch as axis 0: the new axis is merged into it.
constexpr arrays joined_batch(const call& c) {
  arrays in = with_batch_axis(c);
  for (array& x : in) {
    shape s{mul_extent(x.extent(0), x.extent(1))};
    for (int i = 2; i < x.rank(); ++i) s.push_back(x.extent(i));
    x = reshape(x, s);
  }
  arrays out = bind_all(*c.self, in.data(), in.count(), c.attribute_words(), c.where);
  for (array& y : out) {
    shape s{c.batch_size, div_extent(y.extent(0), c.batch_size)};
    for (int i = 1; i < y.rank(); ++i) s.push_back(y.extent(i));
    y = reshape(y, s);
  }
  return out;
}

}  // namespace detail

namespace detail {
/// `products` products of 2 T S H operations for each head, and half of that under a causal mask.
constexpr op_cost attention_cost(const call& c, int products) {
  const double pairs = static_cast<double>(c[0].size()) * static_cast<double>(c[1].extent(1));
  const auto o = c.attrs<attention_options>();
  const double flops = products * 2.0 * pairs * (o.causal ? 0.5 : 1.0);
  if (algorithm_of(c[0].dtype(), o.algorithm) == dot_algorithm::bf16_bf16_f32) return {0, flops};
  return {flops, 0};
}
}  // namespace detail

/// The gradients of attention. They compute the probabilities again, from the scores and the saved normalisers.
inline constexpr op attention_vjp_p{
    .name = "attention_vjp",
    .precision = {.has_algorithm = true, .product_operands = 3, .kernels_in_f32 = true},
    .attributes = schema<attention_options>,
    .infer_all = [](const call& c) -> types {
      if (!detail::has_products(c[0].dtype()) || !detail::attention_shapes_fit(c[0], c[1], c[2]))
        c.fail("attention_vjp: k, v", message(c[1].type()) << ", " << c[2].type(),
               message("[B,S,K,H] for q ") << c[0].type());
      else if (detail::extents_are(c, 3, 3, c[0].shape()) && detail::extents_are(c, 6, 6, c[0].shape()))
        detail::extents_are(c, 4, 5, {c[0].extent(0), c[0].extent(2), c[0].extent(1)});
      return {c[0].type(), c[1].type(), c[2].type()};
    },

    // p = exp(s - lse) * correction; dv = p^T do; ds = p * (do v^T - sum(do * out)) * scale; dq = ds k; dk = ds^T q
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<attention_options>();
      const detail::attention_layout at(c[0], c[1], o);
      const array q = at.per_query(c[0]), k = at.per_key(c[1]), v = at.per_key(c[2]);
      const array out = at.per_query(c[3]), ct = at.per_query(c[6]);
      const array p = exp(at.scores(q, k) - at.per_row(c[4])) * at.per_row(c[5]);
      const array ds = p * (at.times_keys(ct, v) - sum(ct * out, {{-1}, true})) * o.scale;
      return {at.merge_query(at.sum_keys(ds, k), c[0].dtype()), at.merge_key(at.sum_queries(ds, q), c[1].dtype()),
              at.merge_key(at.sum_queries(p, ct), c[2].dtype())};
    },
    .batch = detail::joined_batch,
    .kernels = kernels_of<attention_vjp_p>,
    .cost = [](const call& c) { return detail::attention_cost(c, 5); },
};

/// Attention. For the backward pass it also returns lse, the logarithm of each query's normaliser, and a correction for
/// the rounding of lse: the probabilities are exp(scores - lse) * correction. In exact arithmetic the correction is 1.
inline constexpr op attention_p{
    .name = "attention",
    .precision = {.has_algorithm = true, .product_operands = 3, .kernels_in_f32 = true},
    .attributes = schema<attention_options>,
    .infer_all = [](const call& c) -> types {
      array_type lse{carrying(c[0].dtype()), false, {}};
      if (!detail::has_products(c[0].dtype()) || c[0].rank() != 4)
        c.fail("attention: q", c[0].type(), "floats [B,T,N,H]");
      else if (!detail::attention_shapes_fit(c[0], c[1], c[2]))
        c.fail("attention: k, v", message(c[1].type()) << ", " << c[2].type(),
               message("[B,S,K,H] for q ") << c[0].type());
      else if (is_dyn(c[0].extent(3)))
        c.fail("dynamic extent: attention", c[0].type(), "heads of a known size");
      else
        lse.shape = {c[0].extent(0), c[0].extent(2), c[0].extent(1)};
      return {c[0].type(), lse, lse};
    },
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<attention_options>();
      const detail::attention_layout at(c[0], c[1], o);
      const array s = at.scores(at.per_query(c[0]), at.per_key(c[1]));
      const array top = stop_gradient(detail::reduce(reduce_max_p, s, {{-1}, true}, {}));
      const array e = exp(s - top), total = sum(e, {{-1}, true});  // [B, K, G, T, 1]
      const array out = at.sum_keys(e / total, at.per_key(c[2]));
      const array lse = reshape(log(total) + top, {c[0].extent(0), c[0].extent(2), c[0].extent(1)});
      return {at.merge_query(out, c[0].dtype()), lse, ones_like(lse)};
    },
    .vjp = [](const call& c) -> arrays {
      const auto o = c.attrs<attention_options>();
      arrays d(3);
      if (c.cotangents[0].exists())
        d = attention_vjp(c[0], c[1], c[2], c.outputs[0], c.outputs[1], c.outputs[2], c.cotangents[0], o, {});
      if (!c.cotangents[1].exists()) return d;
      // lse is an output of its own in second derivatives: d lse / d s = p
      const detail::attention_layout at(c[0], c[1], o);
      const array q = at.per_query(c[0]), k = at.per_key(c[1]);
      const array p = exp(at.scores(q, k) - at.per_row(c.outputs[1])) * at.per_row(c.outputs[2]);
      const array ds = p * at.per_row(c.cotangents[1]) * o.scale;
      auto add = [](array& to, const array& more) {
        if (to.exists())
          to = to + more;
        else
          to = more;
      };
      add(d[0], at.merge_query(at.sum_keys(ds, k), c[0].dtype()));
      add(d[1], at.merge_key(at.sum_queries(ds, q), c[1].dtype()));
      return d;
    },
    .batch = detail::joined_batch,
    .kernels = kernels_of<attention_p>,
    .cost = [](const call& c) { return detail::attention_cost(c, 2); },
};

/// {out, lse, correction}: dot_product_attention, the logarithm of each query's normaliser, and the correction for its
/// rounding.
/// shapes  q [B, T, N, H], k and v [B, S, K, H] -> [B, T, N, H], [B, N, T], [B, N, T]
constexpr arrays attention(const array& q, const array& k, const array& v, attention_options options, source_line l) {
  if (options.scale == 0 && q.rank() > 0) options.scale = detail::inverse_sqrt(static_cast<double>(q.extent(-1)));
  const array in[] = {q, k, v};
  return bind_all(attention_p, in, 3, pack(options), l);
}

/// The cotangents {dq, dk, dv} of attention for the cotangent `ct` of `out`; options.scale is the number itself.
constexpr arrays attention_vjp(const array& q, const array& k, const array& v, const array& out, const array& lse,
                               const array& correction, const array& ct, attention_options options, source_line l) {
  const array in[] = {q, k, v, out, lse, correction, ct};
  return bind_all(attention_vjp_p, in, 7, pack(options), l);
}

/// Each query's average of the values, weighted by the softmax of its scaled products with the keys.
///
///   out = softmax(scale * q k^T) v        head n of q meets head n / (N / K) of k and v
///
/// A NaN or an infinity in a key or value that `causal` hides may reach the results. In JAX it always does, because JAX
/// multiplies by 0.
///
/// shapes  q [B, T, N, H], k and v [B, S, K, H], N a multiple of K -> [B, T, N, H]
/// dtypes  any float; scores and softmax in f32, of f64 in f64; the operands of both products are f32, or bf16 for bf16 arrays and
///         under with_precision<bf16_products>, summed in f32; the result has the dtype of q
/// errors  "attention: q", "attention: k, v"
/// NaN     a NaN among the scores of a query makes its result NaN; a key that a causal query does not see may hold
///         anything in k, and finite numbers in v
/// source  jax.nn.dot_product_attention; Vaswani et al. 2017, arXiv:1706.03762, eq. 1; the memory-saving form is
///         Dao et al. 2022, arXiv:2205.14135
constexpr array dot_product_attention(const array& q, const array& k, const array& v, attention_options options = {},
                                      source_line l = source_line::current()) {
  if (!is_floating(q.dtype()) || detail::has_products(q.dtype())) return attention(q, k, v, options, l)[0];
  return astype(attention(astype(q, f32, l), astype(k, f32, l), astype(v, f32, l), options, l)[0], q.dtype(), l);
}

/// The same, where only the keys with a true `mask` are seen. A query that sees none gets the mean of the values.
///
/// shapes  mask broadcasts to [B, N, T, S]
/// memory  the scores [B, N, T, S] are kept for the backward pass
/// source  jax.nn.dot_product_attention(mask=)
constexpr array dot_product_attention(const array& q, const array& k, const array& v, const array& mask,
                                      attention_options options = {}, source_line l = source_line::current()) {
  const array in[] = {q, k, v};
  if (!detail::attention_shapes_fit(q, k, v)) return bind_all(attention_p, in, 3, pack(options), l)[0];
  if (options.scale == 0) options.scale = detail::inverse_sqrt(static_cast<double>(q.extent(3)));
  const detail::attention_layout at(q, k, options);
  const array s = at.scores(at.per_query(q), at.per_key(k));  // [B, K, G, T, S]
  const array seen = reshape(broadcast_to(mask, {s.extent(0), q.extent(2), s.extent(3), s.extent(4)}, l), s.shape(), l);
  const array p = softmax(select(seen, s, detail::masked_score, l), -1, l);
  return at.merge_query(at.sum_keys(p, at.per_key(v)), q.dtype());
}

}  // namespace tokamax
