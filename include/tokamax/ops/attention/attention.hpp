// tokamax/ops/attention/attention.hpp: the op attention and its gradients, which devices have kernels for.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>            // max, sum
#include <tokamax/lax/stop_gradient.hpp>     // the maximum is a constant shift
#include <tokamax/ops/attention/layout.hpp>  // attention_layout

namespace tokamax {

constexpr arrays attention(const array& q, const array& k, const array& v, attention_attributes options,
                           source_line l = source_line::current());
constexpr arrays attention_vjp(const array& q, const array& k, const array& v, const array& out, const array& lse,
                               const array& correction, const array& ct, attention_attributes options,
                               source_line l = source_line::current());

namespace detail {

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
/// `products` products of 2 T S H operations and T S exponentials for each head, and half of that under a causal mask.
constexpr op_cost attention_cost(const call& c, int products) {
  const double pairs = static_cast<double>(c[0].size()) * static_cast<double>(c[1].extent(1));
  const auto o = c.attrs<attention_attributes>();
  const double seen = o.causal ? 0.5 : 1.0;
  op_cost cost = product_cost(products * 2.0 * pairs * seen, c[0].dtype(), o.algorithm);
  cost.transcendentals = pairs * seen / static_cast<double>(c[0].extent(-1));
  return cost;
}
}  // namespace detail

/// The gradients of attention. They compute the probabilities again, from the scores and the saved normalisers.
inline constexpr op attention_vjp_p{
    .name = "attention_vjp",
    .precision = {.has_algorithm = true, .product_operands = 3, .kernels_in_f32 = true},
    .cost = {.operations = [](const call& c) { return detail::attention_cost(c, 5); }},
    .attributes = schema<attention_attributes>,
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
      const auto o = c.attrs<attention_attributes>();
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
};

/// Attention. For the backward pass it also returns lse, the logarithm of each query's normaliser, and a correction for
/// the rounding of lse: the probabilities are exp(scores - lse) * correction. In exact arithmetic the correction is 1.
inline constexpr op attention_p{
    .name = "attention",
    .precision = {.has_algorithm = true, .product_operands = 3, .kernels_in_f32 = true},
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
      else
        lse.shape = {c[0].extent(0), c[0].extent(2), c[0].extent(1)};
      return {c[0].type(), lse, lse};
    },
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<attention_attributes>();
      const detail::attention_layout at(c[0], c[1], o);
      const array s = at.scores(at.per_query(c[0]), at.per_key(c[1]));
      const array top = stop_gradient(detail::reduce(reduce_max_p, s, {{-1}, true}, {}));
      const array e = exp(s - top), total = sum(e, {{-1}, true});  // [B, K, G, T, 1]
      const array out = at.sum_keys(e / total, at.per_key(c[2]));
      const array lse = reshape(log(total) + top, {c[0].extent(0), c[0].extent(2), c[0].extent(1)});
      return {at.merge_query(out, c[0].dtype()), lse, ones_like(lse)};
    },
    .vjp = [](const call& c) -> arrays {
      const auto o = c.attrs<attention_attributes>();
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
};

/// {out, lse, correction}: dot_product_attention, the logarithm of each query's normaliser, and the correction for its
/// rounding.
/// shapes  q [B, T, N, H], k and v [B, S, K, H] -> [B, T, N, H], [B, N, T], [B, N, T]
constexpr arrays attention(const array& q, const array& k, const array& v, attention_attributes options,
                           source_line l) {
  if (options.scale == 0 && q.rank() > 0) options.scale = detail::inverse_sqrt(static_cast<double>(q.extent(-1)));
  const array in[] = {q, k, v};
  return bind_all(attention_p, in, 3, pack(options), l);
}

/// The cotangents {dq, dk, dv} of attention for the cotangent `ct` of `out`; options.scale is the number itself.
constexpr arrays attention_vjp(const array& q, const array& k, const array& v, const array& out, const array& lse,
                               const array& correction, const array& ct, attention_attributes options, source_line l) {
  const array in[] = {q, k, v, out, lse, correction, ct};
  return bind_all(attention_vjp_p, in, 7, pack(options), l);
}

}  // namespace tokamax
