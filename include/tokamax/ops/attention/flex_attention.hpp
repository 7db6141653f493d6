// tokamax/ops/attention/flex_attention.hpp: attention whose scores and mask are functions of the caller.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/ops/attention/with_options.hpp>  // attention_with_options

namespace tokamax {

/// The mask function of flex_attention under which each query sees all keys.
inline constexpr auto every_key = [](const array&, const array&, const array&, const array&) { return array(); };

/// Attention whose scores become score(s, b, h, q, k), and in which a query sees the keys with a true mask(b, h, q, k).
///
///   flex_attention(q, k, v, [](auto& s, auto&, auto&, auto& i, auto& j) { return s + abs(i - j) * -0.5f; })
///
/// Both functions are traced once, on all elements: s are the scaled scores [B, N, T, S], and b [B, 1, 1, 1], h [1, N, 1, 1],
/// q [1, 1, T, 1] and k [1, 1, 1, S] the i32 numbers of batch entry, head, query and key, so that expressions broadcast.
/// Arrays that a function captures get their gradients. b counts the entries of all batch axes.
///
/// order   scale, score, options.bias, soft cap, mask and options.mask; every other option as in dot_product_attention
/// errors  "flex_attention: score" and "flex_attention: mask" if a result is not floats or booleans that broadcast to
///         [B, N, T, S]; those of dot_product_attention
/// source  torch.nn.attention.flex_attention, tokamax.flex_attention; Dong et al. 2024, arXiv:2412.05496
template <class Score, class Mask>
constexpr array flex_attention(const array& q, const array& k, const array& v, Score score, Mask mask,
                               attention_options options = {}, source_line l = source_line::current()) {
  if (!detail::attention_operands_fit(q, k, v, l) || !detail::attention_options_fit(q, options, l)) return q;
  if (options.scale == 0) options.scale = detail::inverse_sqrt(static_cast<double>(q.extent(-1)));
  const detail::attention_extents at(q, k, l);
  const shape all{at.all_batches(), at.heads, at.queries, at.keys};
  const array batch = iota(i32, {all[0], 1, 1, 1}, 0, l), head = iota(i32, {1, all[1], 1, 1}, 1, l);
  const array query = iota(i32, {1, 1, all[2], 1}, 2, l), key = iota(i32, {1, 1, 1, all[3]}, 3, l);
  const auto fits = [&](const char* what, const array& x, bool right_dtype, const char* expected) {
    bool broadcasts = x.rank() <= 4;
    broadcasts = broadcasts && broadcast_shapes(x.shape(), all, broadcasts) == all && broadcasts;
    if (!broadcasts || !right_dtype) reject(q, l, what, x.type(), message(expected) << " that broadcast to " << all);
    return broadcasts && right_dtype;
  };
  const array seen = mask(batch, head, query, key);
  if (seen.exists() && !fits("flex_attention: mask", seen, seen.dtype() == bool_, "booleans")) return q;
  const auto modify = [&](const array& s, const array&) {
    const array changed = score(s, batch, head, query, key);
    if (!fits("flex_attention: score", changed, is_floating(changed.dtype()), "floats")) return s;
    return broadcast_to(astype(changed, s.dtype(), l), all, l);
  };
  const array y = detail::attention_with_options(detail::for_products(q, l), detail::for_products(k, l),
                                                 detail::for_products(v, l), options, seen, modify, l)
                      .out;
  return astype(y, q.dtype(), l);
}

/// The same, where each query sees all keys that the options do not hide.
template <class Score>
constexpr array flex_attention(const array& q, const array& k, const array& v, Score score,
                               attention_options options = {}, source_line l = source_line::current()) {
  return flex_attention(q, k, v, score, every_key, options, l);
}

}  // namespace tokamax
