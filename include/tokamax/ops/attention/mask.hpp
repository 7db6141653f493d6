// tokamax/ops/attention/mask.hpp: which keys a query sees, as a value that is made of ranges, booleans and the causal rule.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/arithmetic.hpp>  // maximum, minimum
#include <tokamax/lax/elementwise/compare.hpp>     // logical_and
#include <tokamax/lax/iota.hpp>                    // iota
#include <tokamax/lax/reshape.hpp>                 // expand_dims

namespace tokamax {

/// A query sees a key if all fields that are set say so: `causal_mask & attention_mask{.k_end = lengths}`.
///
/// shapes  N may be 1 in each field, and so may every other extent; leading axes may be left out
/// source  tokamax.Mask
struct attention_mask {
  array bool_mask = {};    ///< [..., N, T, S] true where the query sees the key
  array q_start = {};      ///< [..., N, S] the first query that sees the key
  array q_end = {};        ///< [..., N, S] one past the last query that sees the key
  array k_start = {};      ///< [..., N, T] the first key that the query sees
  array k_end = {};        ///< [..., N, T] one past the last key that the query sees
  bool is_causal = false;  ///< a query sees the keys at its own position and before

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

/// A query sees a key if both masks say so.
constexpr attention_mask operator&(const attention_mask& a, const attention_mask& b) {
  const auto later = [](const array& x, const array& y) { return maximum(x, y); };
  const auto earlier = [](const array& x, const array& y) { return minimum(x, y); };
  return {.bool_mask = detail::both(a.bool_mask, b.bool_mask, {}),
          .q_start = detail::of_existing(a.q_start, b.q_start, later),
          .q_end = detail::of_existing(a.q_end, b.q_end, earlier),
          .k_start = detail::of_existing(a.k_start, b.k_start, later),
          .k_end = detail::of_existing(a.k_end, b.k_end, earlier),
          .is_causal = a.is_causal || b.is_causal};
}

}  // namespace tokamax
