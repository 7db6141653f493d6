// tokamax/ops/attention/operands.hpp: checks the arrays of dot_product_attention, and gives them one batch axis.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/options.cpp
#pragma once

#include <tokamax/ops/attention/options.hpp>  // attention_options
#include <tokamax/ops/attention/plain.hpp>    // for its users: score_terms

namespace tokamax::detail {

/// The extents of dot_product_attention, whose arrays have any number of batch axes.
struct attention_extents {
  shape batch;  // the batch axes
  std::int64_t queries, keys, heads;
  source_line where;
  const array& q;

  constexpr attention_extents(const array& query, const array& key, source_line l)
      : queries(query.extent(-3)), keys(key.extent(-3)), heads(query.extent(-2)), where(l), q(query) {
    for (int i = 0; i + 3 < query.rank(); ++i) batch.push_back(query.extent(i));
  }

  constexpr std::int64_t all_batches() const {
    std::int64_t n = 1;
    for (const std::int64_t e : batch) n = mul_extent(n, e);
    return n;
  }
  /// x [batch..., a, b, c] -> [B, a, b, c]
  constexpr array flat(const array& x) const {
    if (x.rank() == 4) return x;
    return reshape(x, {all_batches(), x.extent(-3), x.extent(-2), x.extent(-1)}, where);
  }
  /// x [B, rest...] -> [batch..., rest...]
  constexpr array unflat(const array& x) const {
    if (batch.rank() == 1) return x;
    shape s = batch;
    for (int i = 1; i < x.rank(); ++i) s.push_back(x.extent(i));
    return reshape(x, s, where);
  }
  /// x [B or 1, rest...] as what broadcasts to [batch..., rest...].
  constexpr array per_batch(const array& x) const {
    if (batch.rank() == 1 || x.rank() < 4) return x;
    if (x.extent(0) != 1) return unflat(x);
    return reshape(x, {x.extent(1), x.extent(2), x.extent(3)}, where);
  }

  /// x, whose axes are those of [batch..., rest...] from the right with these extents or 1, as [B or 1, rest...].
  /// errors  "dot_product_attention: `name`" if its extents are others
  constexpr array broadcast(const char* name, const array& x, const shape& rest) const {
    shape all = batch, mine;
    for (const std::int64_t e : rest) all.push_back(e);
    bool fits = x.rank() <= all.rank(), repeats = true, whole = true;
    for (int i = 0; fits && i < all.rank(); ++i) {
      const int axis = i - all.rank() + x.rank();
      mine.push_back(axis < 0 ? 1 : x.extent(axis));
      fits = mine[i] == 1 || mine[i] == all[i];
      if (i >= batch.rank()) continue;
      repeats = repeats && mine[i] == 1;
      whole = whole && mine[i] == all[i];
    }
    if (!fits) {
      reject(q, where, message("dot_product_attention: ") << name, x.type(),
             message("extents of 1 or those of ") << all);
      return x;
    }
    shape flattened{1};
    if (!repeats) flattened[0] = all_batches();
    for (int i = batch.rank(); i < all.rank(); ++i) flattened.push_back(mine[i]);
    if (repeats || whole) return reshape(x, flattened, where);
    for (int i = 0; i < batch.rank(); ++i) mine[i] = batch[i];
    return reshape(broadcast_to(x, mine, where), flattened, where);
  }
  constexpr array per_pair(const char* name, const array& x) const {
    return broadcast(name, x, {heads, queries, keys});
  }
  /// Booleans [batch..., N, T, S] or 1 as [B or 1, ...].
  constexpr array booleans(const char* name, const array& x) const {
    if (x.dtype() != bool_)
      reject(q, where, message("dot_product_attention: ") << name, x.type(), "booleans that fit [B,N,T,S]");
    return per_pair(name, x);
  }
  /// Integers [batch..., n] or fewer axes.
  constexpr array integers(const char* name, const array& x, const shape& rest) const {
    if (!is_integer(x.dtype())) reject(q, where, message("dot_product_attention: ") << name, x.type(), "integers");
    return broadcast(name, x, rest);
  }
};

/// Do the queries, keys and values of dot_product_attention fit? If not, the mistake is recorded or thrown.
constexpr bool attention_operands_fit(const array& q, const array& k, const array& v, source_line l) {
  if (!is_floating(q.dtype()) || q.rank() < 3) {
    reject(q, l, "attention: q", q.type(), "floats [B,T,N,H]");
    return false;
  }
  if (is_dyn(q.extent(-1))) {
    reject(q, l, "dynamic extent: attention", q.type(), "heads of a known size");
    return false;
  }
  bool fits = k.rank() == q.rank() && v.rank() == q.rank() && is_floating(k.dtype()) && is_floating(v.dtype());
  for (int i = 0; fits && i + 3 < q.rank(); ++i) fits = k.extent(i) == q.extent(i) && v.extent(i) == q.extent(i);
  fits = fits && k.extent(-3) == v.extent(-3) && k.extent(-2) == v.extent(-2) && k.extent(-1) == q.extent(-1) &&
         k.extent(-2) > 0 && q.extent(-2) % k.extent(-2) == 0;
  if (!fits)
    reject(q, l, "attention: k, v", message(k.type()) << ", " << v.type(), message("[B,S,K,H] for q ") << q.type());
  return fits;
}

/// The positions of queries [B or 1, T] and keys [B or 1, S].
struct attention_positions {
  array q, k;
  constexpr attention_positions(const attention_extents& at, const attention_options& o)
      : q(iota(i32, {at.queries}, 0, at.where)), k(iota(i32, {at.keys}, 0, at.where)) {
    if (o.q_indices.exists()) q = at.integers("q_indices", o.q_indices, {at.queries});
    if (o.k_indices.exists()) k = at.integers("k_indices", o.k_indices, {at.keys});
  }
};

/// A mask without alternatives with checked fields: [B or 1, N or 1, ...], and segments [B or 1, ...].
constexpr attention_mask checked_mask(const attention_extents& at, attention_mask mask) {
  const source_line l = at.where;
  const auto per_key = [&](const char* name, array& x) {  // [B, N, S]
    if (x.exists()) x = at.integers(name, x, {at.heads, at.keys});
  };
  const auto per_query = [&](const char* name, array& x) {  // [B, N, T]
    if (x.exists()) x = at.integers(name, x, {at.heads, at.queries});
  };
  if (mask.bool_mask.exists()) mask.bool_mask = at.booleans("mask", mask.bool_mask);
  per_key("mask.q_start", mask.q_start);
  per_key("mask.q_end", mask.q_end);
  per_query("mask.k_start", mask.k_start);
  per_query("mask.k_end", mask.k_end);
  if (mask.q_segments.exists() != mask.k_segments.exists()) {
    reject(at.q, l, "dot_product_attention: mask.segments", "one of them", "those of queries and keys");
    mask.q_segments = mask.k_segments = {};
  }
  if (mask.q_segments.exists()) {
    mask.q_segments = at.integers("mask.q_segments", mask.q_segments, {at.queries});
    mask.k_segments = at.integers("mask.k_segments", mask.k_segments, {at.keys});
  }
  if (mask.window.left < -1 || mask.window.right < -1)
    reject(at.q, l, "dot_product_attention: mask.window", "another value", "numbers from 0 on");
  for (std::int64_t& size : mask.chunks) {
    if (size > 0) continue;
    reject(at.q, l, "dot_product_attention: mask.chunks", message() << size, "sizes from 1 on");
    size = 1;
  }
  return mask;
}

/// The mask, the causal rule, the window and the lengths of keys of options as one mask with checked fields.
constexpr attention_mask whole_mask(const attention_extents& at, const attention_options& o) {
  attention_mask more{.is_causal = o.is_causal, .window = o.local_window_size};
  if (o.key_value_seq_lengths.exists()) {
    const array lengths = at.integers("key_value_seq_lengths", o.key_value_seq_lengths, {});
    more.k_end = reshape(lengths, {lengths.extent(0), 1, 1}, at.where);
  }
  vec<attention_mask> parts = parts_of(o.mask);
  attention_mask mask = checked_mask(at, parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) mask.alternatives.push_back(checked_mask(at, parts[i]));
  return mask & more;
}

/// Which keys each query sees by a checked mask, [B or 1, N or 1, T or 1, S or 1]. It does not exist if it is all of them.
constexpr array seen_pairs(const attention_mask& mask, const attention_positions& positions, source_line l) {
  const array seen = mask.seen(positions.q, positions.k, l);
  if (!seen.exists() || seen.rank() == 4) return seen;
  shape s;
  for (int i = seen.rank(); i < 4; ++i) s.push_back(1);
  for (const std::int64_t e : seen.shape()) s.push_back(e);
  return reshape(seen, s, l);
}

}  // namespace tokamax::detail
