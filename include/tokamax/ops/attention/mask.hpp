// tokamax/ops/attention/mask.hpp: which keys a query sees, as a value: ranges, windows, chunks, segments, and their unions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/arithmetic.hpp>  // maximum, minimum
#include <tokamax/lax/elementwise/compare.hpp>     // logical_and
#include <tokamax/lax/elementwise/division.hpp>    // quotient
#include <tokamax/lax/iota.hpp>                    // iota
#include <tokamax/lax/shapes/reshape.hpp>          // expand_dims
#include <tokamax/ops/attention/window.hpp>        // attention_window

namespace tokamax {

/// A query sees a key if all fields that are set say so: `causal_mask & attention_mask{.k_end = lengths}`. A union sees what
/// one of its parts sees: `local_mask(256, 0) | attention_mask{.k_end = 4}`.
///
/// dot_product_attention never makes the booleans [T, S] of ranges, windows, chunks, the causal rule and their unions, nor
/// those of segments. Its kernels skip the blocks of keys that no query of a block of queries sees.
///
/// shapes  N may be 1 in each field, and so may every other extent; leading axes may be left out
/// source  tokamax.Mask; CausalMask, LocalMask, ChunkedCausalMask, `|` and SegmentIds of its splash attention
struct attention_mask {
  array bool_mask = {};    ///< [..., N, T, S] true where the query sees the key
  array q_start = {};      ///< [..., N, S] the first query that sees the key
  array q_end = {};        ///< [..., N, S] one past the last query that sees the key
  array k_start = {};      ///< [..., N, T] the first key that the query sees
  array k_end = {};        ///< [..., N, T] one past the last key that the query sees
  bool is_causal = false;  ///< a query sees the keys at its own position and before

  attention_window window = {};   ///< the keys around its own position that a query sees
  vec<std::int64_t> chunks = {};  ///< sizes c: a query at i sees the keys at j with i / c == j / c, for each of them
  array q_segments = {};          ///< [..., T] integers, the same for all heads; a query sees the keys of its
  array k_segments = {};          ///< [..., S] segment; there are both or none
  vec<attention_mask> alternatives = {};  ///< a query also sees a key if one of these says so

  /// The mask as booleans [..., N, T, S], where N may be 1. It does not exist if no field is set.
  ///
  /// shapes  positions of queries [..., T] and keys [..., S], integers
  constexpr array as_array(const array& q_positions, const array& k_positions,
                           source_line l = source_line::current()) const;
  /// The same without repeating what is equal for all heads, queries or keys: some extents may be 1, or missing in front.
  constexpr array seen(const array& q_positions, const array& k_positions, source_line l) const;
  /// as_array at the positions 0 ... queries - 1 and 0 ... keys - 1.
  constexpr array as_array(std::int64_t queries, std::int64_t keys, source_line l = source_line::current()) const {
    return as_array(iota(i32, {queries}, 0, l), iota(i32, {keys}, 0, l), l);
  }
};

/// Each query sees the keys at its own position and before.
inline constexpr attention_mask causal_mask{.is_causal = true};

/// Each query sees `left` keys before its own position, that one, and `right` keys after it; -1: all of them.
constexpr attention_mask local_mask(std::int64_t left, std::int64_t right) { return {.window = {left, right}}; }

/// Each query sees the keys of its own chunk of `size` positions: `chunked_mask(8192) & causal_mask`.
constexpr attention_mask chunked_mask(std::int64_t size) { return {.chunks = {size}}; }

/// Each query sees the keys with its own segment id, as those of one document in a row of several.
///
/// shapes  q_segments [..., T], k_segments [..., S], integers in any order
/// speed   blocks are skipped by the lowest and highest id in them, which works best if ids do not decrease
constexpr attention_mask segment_mask(const array& q_segments, const array& k_segments) {
  return {.q_segments = q_segments, .k_segments = k_segments};
}
constexpr attention_mask segment_mask(const array& segments) { return segment_mask(segments, segments); }

namespace detail {
/// f(a, b), or the one that exists.
template <class F>
constexpr array of_existing(const array& a, const array& b, F f) {
  if (!a.exists()) return b;
  if (!b.exists()) return a;
  return f(a, b);
}
constexpr array both(const array& a, const array& b, source_line l) {
  return of_existing(a, b, [l](const array& x, const array& y) { return logical_and(x, y, l); });
}
/// x [..., T] or a number -> [..., T, 1]
constexpr array per_query_row(const array& x, source_line l) {
  if (x.rank() == 0) return x;
  return expand_dims(x, -1, l);
}
/// x [..., S] or a number -> [..., 1, S]
constexpr array per_key_column(const array& x, source_line l) {
  if (x.rank() == 0) return x;
  return expand_dims(x, -2, l);
}
/// Positions [..., T], which all heads share, with an axis for the heads.
constexpr array with_heads(const array& x, source_line l) {
  if (x.rank() < 2) return x;
  return expand_dims(x, -2, l);
}
/// Do queries [..., T] and keys [..., S] belong to the same segment?
constexpr array same_segment(const array& q, const array& k, source_line l) {
  return equal(per_query_row(with_heads(q, l), l), per_key_column(with_heads(k, l), l), l);
}
/// The parts of a union, each of them without alternatives.
constexpr vec<attention_mask> parts_of(const attention_mask& m) {
  vec<attention_mask> parts{m};
  parts[0].alternatives = {};
  for (const attention_mask& other : m.alternatives) parts.push_back(other);
  return parts;
}
}  // namespace detail

constexpr array attention_mask::seen(const array& q_positions, const array& k_positions, source_line l) const {
  const array q = detail::per_query_row(detail::with_heads(q_positions, l), l);   // [..., T, 1]
  const array k = detail::per_key_column(detail::with_heads(k_positions, l), l);  // [..., 1, S]
  array all = bool_mask;
  const auto require = [&](const array& more) { all = detail::both(all, more, l); };
  if (q_start.exists()) require(q >= located(detail::per_key_column(q_start, l), l));
  if (q_end.exists()) require(q < located(detail::per_key_column(q_end, l), l));
  if (k_start.exists()) require(k >= located(detail::per_query_row(k_start, l), l));
  if (k_end.exists()) require(k < located(detail::per_query_row(k_end, l), l));
  if (is_causal) require(q >= located(k, l));
  if (window.left != attention_window::unlimited) require(k >= q - located(detail::reach(window.left), l));
  if (window.right != attention_window::unlimited) require(k <= q + located(detail::reach(window.right), l));
  for (const std::int64_t size : chunks) {
    const int c = detail::reach(size);
    require(quotient(q, c, l) == located(quotient(k, c, l), l));
  }
  if (q_segments.exists()) require(detail::same_segment(q_segments, k_segments, l));
  for (const attention_mask& other : alternatives) {
    const array more = other.seen(q_positions, k_positions, l);
    if (!all.exists() || !more.exists()) return {};  // a part sees everything
    all = logical_or(all, more, l);
  }
  return all;
}

constexpr array attention_mask::as_array(const array& q_positions, const array& k_positions, source_line l) const {
  const array all = seen(q_positions, k_positions, l);
  if (!all.exists()) return all;
  const shape pairs{1, q_positions.extent(-1), k_positions.extent(-1)};  // at least the axes N, T and S
  bool fits = true;
  const shape s = broadcast_shapes(all.shape(), pairs, fits);
  if (!fits) reject(all, l, "attention_mask: extents", all.type(), message("[..., N, T, S] with T, S of ") << s);
  return broadcast_to(all, s, l);
}

namespace detail {
/// The intersection of masks without alternatives. Of two pairs of segments, the second becomes booleans.
constexpr attention_mask both_of(const attention_mask& a, const attention_mask& b) {
  const auto later = [](const array& x, const array& y) { return maximum(x, y); };
  const auto earlier = [](const array& x, const array& y) { return minimum(x, y); };
  attention_mask m{.bool_mask = both(a.bool_mask, b.bool_mask, {}),
                   .q_start = of_existing(a.q_start, b.q_start, later),
                   .q_end = of_existing(a.q_end, b.q_end, earlier),
                   .k_start = of_existing(a.k_start, b.k_start, later),
                   .k_end = of_existing(a.k_end, b.k_end, earlier),
                   .is_causal = a.is_causal || b.is_causal,
                   .window = a.window & b.window,
                   .chunks = a.chunks,
                   .q_segments = a.q_segments,
                   .k_segments = a.k_segments};
  for (const std::int64_t size : b.chunks) m.chunks.push_back(size);
  if (!m.q_segments.exists())
    m.q_segments = b.q_segments, m.k_segments = b.k_segments;
  else if (b.q_segments.exists())
    m.bool_mask = both(m.bool_mask, same_segment(b.q_segments, b.k_segments, {}), {});
  return m;
}
}  // namespace detail

/// A query sees a key if both masks say so.
constexpr attention_mask operator&(const attention_mask& a, const attention_mask& b) {
  if (a.alternatives.empty() && b.alternatives.empty()) return detail::both_of(a, b);
  vec<attention_mask> all;
  for (const attention_mask& x : detail::parts_of(a))
    for (const attention_mask& y : detail::parts_of(b)) all.push_back(detail::both_of(x, y));
  attention_mask m = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) m.alternatives.push_back(all[i]);
  return m;
}

/// A query sees a key if one of the masks says so.
constexpr attention_mask operator|(attention_mask a, const attention_mask& b) {
  for (const attention_mask& x : detail::parts_of(b)) a.alternatives.push_back(x);
  return a;
}

}  // namespace tokamax
