// tokamax/ops/attention/flex_attention.hpp: attention whose scores and mask are functions of the caller.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (it is dear, and most attention has the op attention)
#pragma once

#include <tokamax/ops/attention/fast_attention.hpp>  // fast_attention
#include <tokamax/ops/attention/flex_blocks.hpp>     // flex_problem
#include <tokamax/ops/attention/flex_functions.hpp>  // flex_functions
#include <tokamax/ops/attention/with_options.hpp>    // attention_with_options

namespace tokamax {

/// The mask function of flex_attention under which each query sees all keys.
inline constexpr auto every_key = [](const array&, const array&, const array&, const array&) { return array(); };

namespace detail {

/// The most bytes of biases and booleans that flex_attention makes of its functions.
inline constexpr std::int64_t most_flex_bytes = std::int64_t{1} << 24;

/// From so many pairs on the functions are traced once more to learn whether arrays do. Fewer scores are computed as they are.
inline constexpr std::int64_t least_flex_pairs = 4096;

constexpr dtype flex_scores(const array& q, const attention_options& o) {
  return o.logits_dtype != dtype::none ? o.logits_dtype : carrying(q.dtype());
}
/// Can the op attention do it, with what the functions add and hide as arrays?
template <class Score, class Mask>
constexpr bool flex_by_arrays(const flex_functions<Score, Mask>& f, const attention_options& o, graph* inside) {
  for (const std::int64_t extent : f.all)
    if (is_dyn(extent)) return false;
  return f.all[2] * f.all[3] >= least_flex_pairs && is_attention_op(o) && has_products(f.q.dtype()) &&
         f.q.dtype() != f64 && f.only_add(inside, flex_scores(f.q, o), most_flex_bytes);
}
/// Does flex_attention compute the scores in blocks? A function that captures an array with an axis for queries or keys does
/// not fit blocks.
template <class Score, class Mask>
constexpr bool flex_in_blocks(const flex_functions<Score, Mask>& f, const attention_options& o, graph* inside) {
  if (!is_cut_in_blocks(f.all, o)) return false;
  const dtype scores = flex_scores(f.q, o);
  flex_functions<Score, Mask> of_block = f;
  of_block.all[2] = flex_cut(f.all[2]).size, of_block.all[3] = flex_cut(f.all[3]).size;
  return f.work(inside, scores) && of_block.work(inside, scores);
}

}  // namespace detail

/// Attention whose scores become score(s, b, h, q, k), and in which a query sees the keys with a true mask(b, h, q, k).
///
///   flex_attention(q, k, v, [](auto& s, auto&, auto&, auto& i, auto& j) { return s + abs(i - j) * -0.5f; })
///
/// Both functions are traced on blocks of pairs, or on all of them: s are scaled scores [B, N, t, s], and b [B, 1, 1, 1],
/// h [1, N, 1, 1], q [1, 1, t, 1] and k [1, 1, 1, s] the i32 numbers of batch entry, head, query and key, so that expressions
/// broadcast. Arrays that a function captures get their gradients: `gather(table, k)` takes what belongs to keys. b counts the
/// entries of all batch axes. A score must not depend on other scores.
///
/// order   scale, score, options.bias, soft cap, mask and options.mask; every other option as in dot_product_attention
/// errors  "flex_attention: score" and "flex_attention: mask" if a result is not floats or booleans that broadcast to
///         [B, N, T, S]; those of dot_product_attention
/// memory  O(T + S) for a head, and at most 16 MiB for all of them, in the gradients too; with options.bias, or functions that
///         capture arrays with an axis for queries or keys, [B, N, T, S]
/// speed   from 4096 pairs on that of dot_product_attention if the score function only adds to the score, and what it adds and
///         the mask fit 16 MiB with the axes that they have: biases by distance of 2048 queries and keys, for all heads alike, do.
///         Otherwise blocks of 128 queries and 128 keys of which no mask lets a pair through are skipped, forward and
///         backward; of a window in the options, the loops have no such blocks at all
/// source  torch.nn.attention.flex_attention, tokamax.flex_attention; Dong et al. 2024, arXiv:2412.05496
template <class Score, class Mask>
constexpr array flex_attention(const array& q, const array& k, const array& v, Score score, Mask mask,
                               attention_options options = {}, source_line l = source_line::current()) {
  if (!detail::attention_operands_fit(q, k, v, l) || !detail::attention_options_fit(q, options, l)) return q;
  if (options.scale == 0) options.scale = detail::inverse_sqrt(static_cast<double>(q.extent(-1)));
  const array query = detail::for_products(q, l), key = detail::for_products(k, l), value = detail::for_products(v, l);
  const detail::attention_extents at(query, key, l);
  const detail::flex_functions<Score, Mask> f{score, mask, q, {at.all_batches(), at.heads, at.queries, at.keys}, l};
  if (detail::flex_by_arrays(f, options, trace_of(q, k, v))) {
    array added = f.bias(carrying(q.dtype()));
    const array seen = f.seen();
    if (options.bias.exists()) added = added + at.per_pair("bias", options.bias);
    options.bias = at.per_batch(added);
    if (seen.exists())
      options.mask = any_attention_mask(options.mask & attention_mask{.bool_mask = at.per_batch(seen)});
    return astype(detail::fast_attention(query, key, value, options, l), q.dtype(), l);
  }
  if (detail::flex_in_blocks(f, options, trace_of(q, k, v))) {
    const detail::flex_problem<Score, Mask> blocks(score, mask, at, options, key);
    return astype(at.unflat(blocks(at.flat(query), at.flat(key), at.flat(value))), q.dtype(), l);
  }
  const array seen = f.seen();
  if (!f.mask_fits(seen)) return q;
  const auto modify = [&](const array& s, const array&) { return f.modified(s); };
  return astype(detail::attention_with_options(query, key, value, options, seen, modify, l).out, q.dtype(), l);
}

/// The same, where each query sees all keys that the options do not hide.
template <class Score>
constexpr array flex_attention(const array& q, const array& k, const array& v, Score score,
                               attention_options options = {}, source_line l = source_line::current()) {
  return flex_attention(q, k, v, score, every_key, options, l);
}

}  // namespace tokamax
