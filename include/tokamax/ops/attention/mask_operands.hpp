// tokamax/ops/attention/mask_operands.hpp: a mask as attributes and operands of the op attention, small ones where it can be.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/options.cpp
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/ops/attention/operands.hpp>  // whole_mask

namespace tokamax::detail {

/// Do only the positions of keys decide what a query sees, in one range?
constexpr bool is_range(const attention_mask& m) {
  return !m.bool_mask.exists() && !m.q_start.exists() && !m.q_end.exists() && !m.q_segments.exists();
}
constexpr bool has_range(const attention_mask& m) {
  return m.k_start.exists() || m.k_end.exists() || m.is_causal || m.window.limits() || !m.chunks.empty();
}
/// A mask without alternatives and without that range.
constexpr attention_mask without_range(attention_mask m) {
  m.k_start = m.k_end = {};
  m.is_causal = false, m.window = {}, m.chunks = {};
  return m;
}

/// Adds the range of keys that a mask without alternatives lets queries at `positions` [B or 1, T] see: the first one, and
/// one past the last one, each [B or 1, N or 1, T or 1, 1].
constexpr void add_range(const attention_mask& m, const array& positions, std::int64_t keys, arrays& to,
                         source_line l) {
  array q = positions;  // [B or 1, 1, T]
  if (q.rank() == 1) q = expand_dims(q, 0, l);
  q = expand_dims(q, 1, l);
  array first = m.k_start, end = m.k_end;
  const auto from = [&](const array& x) {
    first = of_existing(first, x, [l](const array& a, const array& b) { return maximum(a, b, l); });
  };
  const auto until = [&](const array& x) {
    end = of_existing(end, x, [l](const array& a, const array& b) { return minimum(a, b, l); });
  };
  if (m.is_causal) until(q + located(1, l));
  if (m.window.left != attention_window::unlimited) from(q - located(reach(m.window.left), l));
  if (m.window.right != attention_window::unlimited) until(q + located(reach(m.window.right), l) + located(1, l));
  for (const std::int64_t size : m.chunks) {
    const int c = reach(size);
    const array begin = quotient(q, c, l) * located(c, l);
    from(begin), until(begin + located(c, l));
  }
  const array most = extent_operand(keys, l);
  const auto bounded = [&](const array& x, const array& otherwise) {
    array y = otherwise;
    if (x.exists()) y = astype(minimum(maximum(x, 0, l), most, l), i32, l);
    if (y.rank() == 0) y = reshape(astype(y, i32, l), {1, 1, 1}, l);
    return expand_dims(y, -1, l);
  };
  to.push_back(bounded(first, full({1, 1, 1}, 0, i32, l)));
  to.push_back(bounded(end, most));
}

/// Adds what queries see to the attributes and operands of the op attention: its causal rule and window, ranges of keys,
/// segments, and booleans [B or 1, N or 1, T or 1, S or 1] for what is none of these.
constexpr void add_mask(const attention_extents& at, const attention_positions& positions, const attention_options& o,
                        attention_attributes& a, arrays& in) {
  const source_line l = at.where;
  attention_mask mask = whole_mask(at, o);
  const bool one = mask.alternatives.empty();
  if (one && !o.q_indices.exists() && !o.k_indices.exists()) {  // the op knows these
    a.causal = mask.is_causal, a.left = mask.window.left, a.right = mask.window.right;
    mask.is_causal = false, mask.window = {};
  }
  arrays ranges;
  if (!o.k_indices.exists() && one && has_range(mask)) {
    add_range(mask, positions.q, at.keys, ranges, l);
    mask = without_range(mask);
  } else if (!o.k_indices.exists() && !one) {
    bool all = true, limited = true;
    for (const attention_mask& m : parts_of(mask)) all = all && is_range(m), limited = limited && has_range(m);
    for (const attention_mask& m : parts_of(mask))
      if (all && limited) add_range(m, positions.q, at.keys, ranges, l);
    if (all) mask = {};
  }
  if (!ranges.empty()) {
    a.ranges = static_cast<std::int64_t>(ranges.size()) / 2;
    shape s{1, 1, 1, 1};
    bool fits = true;
    for (const array& x : ranges) s = broadcast_shapes(s, x.shape(), fits);
    for (array& x : ranges) x = broadcast_to(x, s, l);
    in.push_back(concatenate(ranges, -1, l));
  }
  if (one && mask.q_segments.exists()) {
    a.has_segments = true;
    const array &q = mask.q_segments, &k = mask.k_segments;
    in.push_back(reshape(astype(q, i32, l), {q.extent(0), 1, q.extent(1), 1}, l));
    in.push_back(reshape(astype(k, i32, l), {k.extent(0), 1, 1, k.extent(1)}, l));
    mask.q_segments = mask.k_segments = {};
  }
  const array seen = seen_pairs(mask, positions, l);
  if (!seen.exists()) return;
  a.has_mask = true;
  in.push_back(seen);
}

}  // namespace tokamax::detail
