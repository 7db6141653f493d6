// tokamax/ops/attention/flex_blocks.hpp: flex_attention block by block, in memory that grows with the lengths alone.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/flex_attention.cpp
#pragma once

#include <tokamax/lax/indexing/dynamic_slice.hpp>    // dynamic_slice_in_dim
#include <tokamax/lax/indexing/slice.hpp>            // pad
#include <tokamax/ops/attention/with_options.hpp>    // only_valid_queries
#include <tokamax/transforms/control_flow/cond.hpp>  // cond
#include <tokamax/transforms/control_flow/scan.hpp>  // scan

namespace tokamax::detail {

/// Queries, and keys, of a block. There are at most B N of these blocks of scores at a time.
inline constexpr std::int64_t flex_block = 128;

/// Some queries and the number of the first, and some keys with their values; or all of them, one block after the other.
struct flex_queries {
  array q, first;  // [B, t, N, H], []
};
struct flex_keys {
  array k, v, first;  // [B, s, K, H], [B, s, K, h], []
};
/// What some queries have seen so far: their highest scores and the sums of weights [B, N, t], and of weighted values
/// [B, K, G, t, h].
struct flex_state {
  array highest, total, sums;
};

/// What a loop over keys carries. The number of the first query does not change; it tells the loop of which trace it is.
struct flex_step {
  flex_state state;
  array first;
};

/// A length, and how it is cut. The last block is filled up.
struct flex_cut {
  std::int64_t length, size, blocks;
  constexpr explicit flex_cut(std::int64_t n)
      : length(n), size(n < flex_block ? n : flex_block), blocks((n + size - 1) / size) {}

  constexpr array padded(const array& x, int axis, source_line l) const {
    if (!x.exists() || x.rank() == 0 || x.extent(axis) != length || length == size * blocks) return x;
    shape none, more;
    for (int i = 0; i < x.rank(); ++i) none.push_back(0), more.push_back(0);
    more[axis] = size * blocks - length;
    return pad(x, zeros({}, x.dtype()), none, more, {}, l);
  }
  /// x [B, length, ...] -> [blocks, B, size, ...]
  constexpr array in_blocks(const array& x, source_line l) const {
    const shape of_x = x.shape();
    return transpose(reshape(padded(x, 1, l), {of_x[0], blocks, size, of_x[2], of_x[3]}, l), {1, 0, 2, 3, 4}, l);
  }
  /// The part of x for one block, if it is not the same for all of them.
  constexpr array part(const array& x, int axis, const array& first, source_line l) const {
    if (!x.exists() || x.rank() == 0 || x.extent(axis) == 1) return x;
    return dynamic_slice_in_dim(x, first, size, axis, l);
  }
  /// The numbers of a block along an axis of four; those past the end are the last one.
  constexpr array numbers(const array& first, int axis, source_line l) const {
    shape s{1, 1, 1, 1};
    s[axis] = size;
    return minimum(iota(i32, s, axis, l) + first, static_cast<int>(length - 1), l);
  }
};

/// f(x, axis) for the fields of a checked mask along queries, and g(x, axis) for those along keys.
template <class F, class G>
constexpr void for_fields(attention_mask& m, F f, G g) {
  f(m.bool_mask, 2), g(m.bool_mask, 3);
  g(m.q_start, 2), g(m.q_end, 2), f(m.k_start, 2), f(m.k_end, 2);
  f(m.q_segments, 1), g(m.k_segments, 1);
  for (attention_mask& other : m.alternatives) for_fields(other, f, g);
}

/// flex_attention with what its blocks share.
template <class Score, class Mask>
struct flex_problem {
  const Score& score;
  const Mask& mask;
  const attention_extents& at;
  const attention_options& o;
  source_line where;
  flex_cut queries, keys;
  attention_mask hides;           // by the options; filled up
  attention_positions positions;  // filled up
  array keeps;                    // the dropout mask, filled up, or missing
  std::int64_t kv_heads;
  dtype type, sums;  // of q, and of the state

  constexpr flex_problem(const Score& s, const Mask& m, const attention_extents& extents, const attention_options& opts,
                         const array& k)
      : score(s),
        mask(m),
        at(extents),
        o(opts),
        where(extents.where),
        queries(extents.queries),
        keys(extents.keys),
        hides(whole_mask(extents, opts)),
        positions(extents, opts),
        kv_heads(k.extent(-2)),
        type(extents.q.dtype()),
        sums(carrying(extents.q.dtype())) {
    for_fields(
        hides, [&](array& x, int axis) { x = queries.padded(x, axis, where); },
        [&](array& x, int axis) { x = keys.padded(x, axis, where); });
    if (o.dropout_mask.exists())
      keeps = keys.padded(queries.padded(at.booleans("dropout_mask", o.dropout_mask), 2, where), 3, where);
    positions.q = queries.padded(positions.q, positions.q.rank() - 1, where);
    positions.k = keys.padded(positions.k, positions.k.rank() - 1, where);
  }

  constexpr array per_query(const array& x) const { return expand_dims(x, -1, where); }  // [B, N, t, 1]
  constexpr array grouped(const array& x) const {                                        // [B, K, G, t, 1]
    return reshape(x, {x.extent(0), kv_heads, at.heads / kv_heads, x.extent(2), 1}, where);
  }
  constexpr array entries() const { return iota(i32, {at.all_batches(), 1, 1, 1}, 0, where); }
  constexpr array heads() const { return iota(i32, {1, at.heads, 1, 1}, 1, where); }

  /// Which pairs of a block are seen; it does not exist if all are.
  constexpr array seen(const array& q, const array& k) const {
    attention_mask part = hides;
    for_fields(
        part, [&](array& x, int axis) { x = queries.part(x, axis, q, where); },
        [&](array& x, int axis) { x = keys.part(x, axis, k, where); });
    attention_positions here = positions;
    here.q = queries.part(here.q, here.q.rank() - 1, q, where);
    here.k = keys.part(here.k, here.k.rank() - 1, k, where);
    const array b = entries(), h = heads(), i = queries.numbers(q, 2, where), j = keys.numbers(k, 3, where);
    array all = both(seen_pairs(part, here, where), mask(b, h, i, j), where);
    if (keys.length < keys.size * keys.blocks)
      all = both(all, iota(i32, {1, 1, 1, keys.size}, 3, where) + k < static_cast<int>(keys.length), where);
    return all;
  }

  /// The state after some more keys.
  constexpr flex_state next(const flex_state& before, const flex_queries& q, const flex_keys& k,
                            const array& visible) const {
    attention_layout layout(q.q, k.k, {.scale = o.scale, .algorithm = o.algorithm});
    if (o.value_algorithm != dot_algorithm::unspecified) layout.of_values = o.value_algorithm;
    const shape all{at.all_batches(), at.heads, queries.size, keys.size};
    const auto modify = [&](const array& s, const array&) {
      const array b = entries(), h = heads(), i = queries.numbers(q.first, 2, where);
      const array j = keys.numbers(k.first, 3, where), changed = score(s, b, h, i, j);
      return broadcast_to(astype(changed, s.dtype(), where), all, where);
    };
    const score_terms terms{.seen = visible, .soft_cap = o.logits_soft_cap, .logits = o.logits_dtype};
    const array s = attention_scores(layout, q.q, k.k, terms, modify);
    const array top = maximum(before.highest, stop_gradient(max(s, {{-1}}, where)), where);  // [B, N, t]
    const array shrink = exp(before.highest - top, where);
    array p = exp(s - per_query(top), where);
    if (visible.exists()) p = select(visible, p, 0.0f, where);
    const array total = before.total * shrink + sum(p, {{-1}}, where);
    if (keeps.exists()) {
      const array kept = keys.part(queries.part(keeps, 2, q.first, where), 3, k.first, where);
      p = select(kept, p / (1 - o.dropout_rate), 0.0f, where);
    }
    return {top, total, before.sums * grouped(shrink) + layout.sum_keys(layout.grouped(p), layout.per_key(k.v))};
  }

  /// The results [B, t, N, h] of some queries. Blocks of keys that none of them sees are not read.
  constexpr array results(const flex_queries& q, const flex_keys& k, const array& mean) const {
    const shape rows{at.all_batches(), at.heads, queries.size};
    const flex_state zero{full(rows, masked_score, sums), zeros(rows, sums),
                          zeros({rows[0], kv_heads, at.heads / kv_heads, rows[2], k.v.extent(-1)}, sums)};
    const auto step = [&](const flex_step& before, const flex_keys& x) {
      const auto carry = [&](const flex_state& s) { return std::pair{flex_step{s, before.first}, nothing{}}; };
      const array visible = seen(before.first, x.first);
      const auto add = [&](const flex_state& b, const flex_queries& some, const flex_keys& more) {
        return next(b, some, more, visible);
      };
      const auto leave = [](const flex_state& b, const flex_queries&, const flex_keys&) { return b; };
      const flex_queries mine{q.q, before.first};
      if (!visible.exists()) return carry(add(before.state, mine, x));
      return carry(
          cond(any(visible, {}, where), add, leave, before.state, mine, x));  // operands, so that it can skip them
    };
    flex_state y = scan(step, flex_step{zero, q.first}, k, {}, where).first.state;
    if (o.sinks.exists()) {  // a score more
      const array sinks = astype(reshape(o.sinks, {1, at.heads, 1}, where), sums, where);
      const array top = stop_gradient(maximum(y.highest, sinks, where)), shrink = exp(y.highest - top, where);
      y.total = y.total * shrink + exp(sinks - top, where);
      y.sums = y.sums * grouped(shrink);
    }
    const array none = grouped(y.total) == 0.0f;
    array out = y.sums, otherwise = mean;
    if (o.normalize_output)
      out = out / select(none, 1.0f, grouped(y.total), where);
    else
      otherwise = mean * static_cast<float>(keys.length);
    return attention_layout::merge_query(select(none, otherwise, out, where), type);
  }

  /// How many blocks of keys in a row hold all that a block of queries sees by a window, and the first of them.
  constexpr std::int64_t near_blocks() const {
    const std::int64_t left = hides.window.left, right = hides.is_causal ? 0 : hides.window.right;
    const bool banded = left >= 0 && right >= 0 && hides.alternatives.empty();
    if (!banded || o.q_indices.exists() || o.k_indices.exists() || left >= keys.length || right >= keys.length)
      return keys.blocks;
    const std::int64_t seen = left + queries.size + right;
    const std::int64_t before = queries.size == keys.size ? (keys.size - left % keys.size) % keys.size : keys.size - 1;
    const std::int64_t n = (before + seen + keys.size - 1) / keys.size;
    return n < keys.blocks ? n : keys.blocks;
  }
  constexpr flex_keys near(const flex_keys& all, const array& first) const {
    const std::int64_t n = near_blocks();
    if (n == keys.blocks) return all;
    const array key = maximum(first - static_cast<int>(hides.window.left), 0, where);
    const array from = quotient(key, static_cast<int>(keys.size), where);
    const auto some = [&](const array& x) { return dynamic_slice_in_dim(x, from, n, 0, where); };
    return {some(all.k), some(all.v), some(all.first)};
  }

  constexpr array operator()(const array& q, const array& k, const array& v) const {
    const std::int64_t n = static_cast<std::int64_t>(queries.blocks), width = v.extent(-1);
    const array mean =
        reshape(astype(sum(astype(v, sums, where), {{1}}, where), sums, where) / static_cast<float>(keys.length),
                {at.all_batches(), kv_heads, 1, 1, width}, where);
    const auto firsts = [&](const flex_cut& c) { return iota(i32, {c.blocks}, 0, where) * static_cast<int>(c.size); };
    const flex_keys all{keys.in_blocks(k, where), keys.in_blocks(v, where), firsts(keys)};
    const auto of_queries = [&](const nothing& none, const flex_queries& some) {
      return std::pair{none, results(some, near(all, some.first), mean)};
    };
    const array y =
        scan(of_queries, nothing{}, flex_queries{queries.in_blocks(q, where), firsts(queries)}, {}, where).second;
    const array joined =
        reshape(transpose(y, {1, 0, 2, 3, 4}, where), {at.all_batches(), n * queries.size, at.heads, width}, where);
    return only_valid_queries(at, attention_positions(at, o), o, slice_in_dim(joined, 0, queries.length, 1, where));
  }
};

/// Are there so many scores that blocks are worth it, and can they be cut? A bias has as many numbers as the scores.
constexpr bool is_cut_in_blocks(const shape& pairs, const attention_options& o) {
  for (int i = 0; i < 4; ++i)
    if (is_dyn(pairs[i]) || pairs[i] == 0) return false;
  return !o.bias.exists() && pairs[2] * pairs[3] > 4 * flex_block * flex_block;
}

}  // namespace tokamax::detail
