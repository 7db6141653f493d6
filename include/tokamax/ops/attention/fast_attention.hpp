// tokamax/ops/attention/fast_attention.hpp: attention with the options that the op attention has, by that op.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/options.cpp
#pragma once

#include <tokamax/lax/indexing/slice.hpp>           // pad
#include <tokamax/ops/attention/attention.hpp>      // attention
#include <tokamax/ops/attention/mask_operands.hpp>  // add_mask
#include <tokamax/ops/attention/with_options.hpp>   // only_valid_queries

namespace tokamax::detail {

/// Can the op attention do this, with other operands?
constexpr bool is_attention_op(const attention_options& o) {
  const bool one_algorithm = o.value_algorithm == dot_algorithm::unspecified || o.value_algorithm == o.algorithm;
  return !o.dropout_mask.exists() && o.logits_dtype == dtype::none && o.normalize_output && one_algorithm;
}

/// x [B, T, N, h] with zeros up to `size` features.
constexpr array with_features(const array& x, std::int64_t size, source_line l) {
  if (x.extent(3) == size) return x;
  return pad(x, 0.0f, {0, 0, 0, 0}, {0, 0, 0, size - x.extent(3)}, {}, l);
}

/// Attention by the op of that name. Values of another head size than the keys, or the keys, are filled up with zeros.
constexpr array fast_attention(const array& q, const array& k, const array& v, const attention_options& o,
                               source_line l) {
  const attention_extents at(q, k, l);
  const attention_positions positions(at, o);
  attention_attributes a{.scale = o.scale, .soft_cap = o.logits_soft_cap, .algorithm = o.algorithm};
  const std::int64_t size = q.extent(-1), width = v.extent(-1), both = size < width ? width : size;
  const array values = at.flat(v);
  arrays in{with_features(at.flat(q), both, l), with_features(at.flat(k), both, l), with_features(values, both, l)};
  if (o.bias.exists()) {
    a.has_bias = true;
    in.push_back(astype(at.per_pair("bias", o.bias), carrying(q.dtype()), l));
  }
  add_mask(at, positions, o, a, in);
  const use_implementation named("attention", o.implementation, in[0], in[1], in[2]);
  const arrays results = attention(in, a, l);
  array y = results[0];
  if (width < both) y = slice_in_dim(y, 0, width, 3, l);
  if (o.sinks.exists()) {  // a score more in the sum of weights
    const array sinks = reshape(o.sinks, {o.sinks.extent(0), 1}, l);
    const array share = logistic(results[1] - located(astype(sinks, results[1].dtype(), l), l), l);  // [B, N, T]
    const array per_query = expand_dims(swapaxes(share, 1, 2, l), -1, l);                            // [B, T, N, 1]
    y = astype(astype(y, share.dtype(), l) * located(per_query, l), y.dtype(), l);
  }
  return at.unflat(only_valid_queries(at, positions, o, y));
}

}  // namespace tokamax::detail
