// tokamax/ops/attention/flex_attention.hpp: attention whose scores and mask are functions of the caller.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/ops/attention/flex_blocks.hpp>   // flex_problem
#include <tokamax/ops/attention/with_options.hpp>  // attention_with_options

namespace tokamax {

/// The mask function of flex_attention under which each query sees all keys.
inline constexpr auto every_key = [](const array&, const array&, const array&, const array&) { return array(); };

namespace detail {

/// The functions of flex_attention on scores of some extents, with their checks.
template <class Score, class Mask>
struct flex_functions {
  const Score& score;
  const Mask& mask;
  const array& q;
  shape all;  // [B, N, T, S]
  source_line where;

  constexpr array numbers(int axis) const {
    shape s{1, 1, 1, 1};
    s[axis] = all[axis];
    return iota(i32, s, axis, where);
  }
  constexpr bool fits(const char* what, const array& x, bool right_dtype, const char* expected) const {
    bool broadcasts = x.rank() <= 4;
    broadcasts = broadcasts && broadcast_shapes(x.shape(), all, broadcasts) == all && broadcasts;
    if (!broadcasts || !right_dtype)
      reject(q, where, what, x.type(), message(expected) << " that broadcast to " << all);
    return broadcasts && right_dtype;
  }
  constexpr array seen() const {
    const array b = numbers(0), h = numbers(1), i = numbers(2), j = numbers(3);
    return mask(b, h, i, j);
  }
  constexpr bool mask_fits(const array& x) const {
    return !x.exists() || fits("flex_attention: mask", x, x.dtype() == bool_, "booleans");
  }
  constexpr array modified(const array& s) const {
    const array b = numbers(0), h = numbers(1), i = numbers(2), j = numbers(3);
    const array changed = score(s, b, h, i, j);
    if (!fits("flex_attention: score", changed, is_floating(changed.dtype()), "floats")) return s;
    return broadcast_to(astype(changed, s.dtype(), where), all, where);
  }
  /// Do both give what they should?
  constexpr bool work(graph* inside, dtype scores) const {
    return traces_without_mistake(inside, [&] {
      const array x = seen();
      mask_fits(x);
      return modified(zeros(all, scores));
    });
  }
};

/// Does flex_attention compute the scores in blocks? A function that captures an array with an axis for queries or keys does
/// not fit blocks.
template <class Score, class Mask>
constexpr bool flex_in_blocks(const flex_functions<Score, Mask>& f, const attention_options& o, graph* inside) {
  if (!is_cut_in_blocks(f.all, o)) return false;
  dtype scores = carrying(f.q.dtype());
  if (o.logits_dtype != dtype::none) scores = o.logits_dtype;
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
/// memory  O(T + S) for a head, in the gradients too; with options.bias, or functions that capture arrays with an axis for
///         queries or keys, [B, N, T, S]
/// speed   blocks of 128 queries and 128 keys of which no mask lets a pair through are skipped, forward and backward;
///         of a window in the options, the loops have no such blocks at all
/// source  torch.nn.attention.flex_attention, tokamax.flex_attention; Dong et al. 2024, arXiv:2412.05496
template <class Score, class Mask>
constexpr array flex_attention(const array& q, const array& k, const array& v, Score score, Mask mask,
                               attention_options options = {}, source_line l = source_line::current()) {
  if (!detail::attention_operands_fit(q, k, v, l) || !detail::attention_options_fit(q, options, l)) return q;
  if (options.scale == 0) options.scale = detail::inverse_sqrt(static_cast<double>(q.extent(-1)));
  const array query = detail::for_products(q, l), key = detail::for_products(k, l), value = detail::for_products(v, l);
  const detail::attention_extents at(query, key, l);
  const detail::flex_functions<Score, Mask> f{score, mask, q, {at.all_batches(), at.heads, at.queries, at.keys}, l};
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
