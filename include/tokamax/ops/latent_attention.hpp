// tokamax/ops/latent_attention.hpp: attention of many heads to one latent row of each token, which is key and value at once.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/ops/latent_attention.cpp
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/ops/paged_attention.hpp>     // paged_batch

namespace tokamax {

/// How multi_head_latent_attention is asked to behave.
struct latent_attention_options {
  double scale = 1;                 ///< of the scores; the size of the heads before absorption is not known here
  double logits_soft_cap = 0;       ///< c: scores become c * tanh(score / c); 0 means none
  std::int64_t sliding_window = 0;  ///< the number of rows that a token sees, its own included; 0 means all
  array scales = {};                ///< [P, page] by which cached rows are multiplied, as quantised ones need it
  bool same_bits = false;           ///< as in paged_attention_options
};

/// The result of multi_head_latent_attention with the cache that has the new tokens.
struct latent_attention_result {
  array out;    ///< [T, N, L]
  array cache;  ///< [P, page, L + R]
};

namespace detail {
/// Rejects operands that do not fit each other.
constexpr bool latent_attention_fits(const array& q, const array& q_rope, const array& rows, const array& rope_rows,
                                     const array& cache, const latent_attention_options& o, source_line l) {
  const auto wrong = [&](const char* what, const array& found, const message& expected) {
    reject(q, l, what, found.type(), expected);
    return false;
  };
  if (q.rank() != 3 || !is_floating(q.dtype())) return wrong("latent_attention: q", q, message("floats [T,N,L]"));
  if (q_rope.rank() != 3 || q_rope.dtype() != q.dtype() || q_rope.extent(0) != q.extent(0) ||
      q_rope.extent(1) != q.extent(1))
    return wrong("latent_attention: q_rope", q_rope, message("[T,N,R] for q ") << q.type());
  if (rows.rank() != 2 || rows.extent(0) != q.extent(0) || rows.extent(1) != q.extent(2))
    return wrong("latent_attention: new_latent", rows, message("[T,L] for q ") << q.type());
  if (rope_rows.rank() != 2 || rope_rows.extent(0) != q.extent(0) || rope_rows.extent(1) != q_rope.extent(2))
    return wrong("latent_attention: new_rope", rope_rows, message("[T,R] for q_rope ") << q_rope.type());
  if (cache.rank() != 3 || cache.extent(2) != add_extent(q.extent(2), q_rope.extent(2)))
    return wrong("latent_attention: cache", cache,
                 message("[P,page,") << add_extent(q.extent(2), q_rope.extent(2)) << "]");
  if (o.scales.exists() && o.scales.shape() != shape{cache.extent(0), cache.extent(1)})
    return wrong("latent_attention: scales", o.scales,
                 message("[") << cache.extent(0) << "," << cache.extent(1) << "]");
  return true;
}
}  // namespace detail

/// Multi-head latent attention after absorption: all heads share one key of each token, its latent row beside its rotated row,
/// and the latent row is the value too. First the rows of the new tokens are written to their places in `cache`; a program that
/// was given the cache to keep writes into its memory.
///
///   key j = [latent j, rope j], score = scale * (q_nope . latent j + q_rope . rope j), out = sum_j softmax_j(score) * latent j
///
/// Which rows belong to which token, and what a token sees, is as for ragged_paged_attention.
///
/// shapes  q_nope [T, N, L], q_rope [T, N, R], new_latent [T, L], new_rope [T, R], cache [P, page, L + R] -> [T, N, L]; L > 0
/// dtypes  q any float, which the result has; the cache any float or i8, to which new rows are rounded
/// errors  "latent_attention: q", "q_rope", "new_latent", "new_rope", "cache", "scales", and those of ragged_paged_attention
/// source  DeepSeek-AI 2024, arXiv:2405.04434, section 2.1; the experimental mla of openxla/tokamax, whose cache is padded
constexpr latent_attention_result multi_head_latent_attention(const array& q_nope, const array& q_rope,
                                                              const array& new_latent, const array& new_rope,
                                                              const array& cache, const paged_batch& batch,
                                                              const latent_attention_options& options = {},
                                                              source_line l = source_line::current()) {
  latent_attention_result y{.out = q_nope, .cache = cache};
  if (!detail::latent_attention_fits(q_nope, q_rope, new_latent, new_rope, cache, options, l)) return y;
  const std::int64_t pages = cache.extent(0), size = cache.extent(1), wide = cache.extent(2);
  const array row =
      concatenate({astype(new_latent, cache.dtype(), l), astype(new_rope, cache.dtype(), l)}, 1, l);  // [T, L + R]
  y.cache = scatter(cache, detail::paged_slots(q_nope.extent(0), batch, size, l), row, {.axes = 2}, l);
  const array keys = reshape(y.cache, {pages, size, 1, wide}, l);
  paged_attention_options o{
      .scale = options.scale, .logits_soft_cap = options.logits_soft_cap, .sliding_window = options.sliding_window};
  o.same_bits = options.same_bits;
  if (options.scales.exists()) o.key_scales = o.value_scales = reshape(options.scales, {pages, size, 1}, l);
  y.out = detail::paged(concatenate({q_nope, q_rope}, 2, l), {keys, keys}, batch, o, l, q_nope.extent(2));
  return y;
}

}  // namespace tokamax
