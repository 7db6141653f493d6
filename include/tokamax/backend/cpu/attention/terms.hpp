// tokamax/backend/cpu/attention/terms.hpp: biases, soft caps, masks and windows of a block of scores.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/attention/attention.cpp
#pragma once

#include <tokamax/backend/cpu/attention/softmax.hpp>  // hidden_score
#include <tokamax/backend/cpu/attention/visible.hpp>  // hide_keys

namespace tokamax::cpu_backend::detail {

/// JAX's score of such a key, which is the logarithm of the normaliser of a query that sees no key.
inline constexpr float hidden_lse = -0.7f * 3.4028234663852886e38f;

/// x before the mask: scaled, with its bias, and capped. `slope` is the derivative of the cap.
inline f32v modified_score(const attention_shape& s, f32v x, f32v bias, f32v& slope) noexcept {
  x = fma(x, f32v(s.scale), bias);
  slope = f32v(1.0f);
  if (s.soft_cap == 0) return x;
  const f32v y = tanh_rational(x / f32v(s.soft_cap));
  slope = f32v(1.0f) - y * y;
  return y * f32v(s.soft_cap);
}
inline f32v raised_score(f32v x) noexcept { return select(x < f32v(hidden_score), f32v(hidden_score), x); }

/// Room for the biases and masks of a block [keys, panel_lanes], with queries in the lanes, and for the ranges
/// [2 R, panel_lanes] and segments [panel_lanes] of these queries.
struct term_panels {
  float *bias, *hidden;
  std::int32_t *ranges, *segments;

  /// The floats that these pieces take for blocks of so many keys.
  static std::int64_t floats(const attention_shape& s, std::int64_t keys) noexcept {
    return s.modified() ? 2 * up_to(keys * panel_lanes, 16) + (2 * s.range_count + 1) * panel_lanes : 0;
  }
  term_panels(const attention_shape& s, std::int64_t keys, scratch_pieces& from) noexcept
      : bias(from.take(s.modified() ? keys * panel_lanes : 0)),
        hidden(from.take(s.modified() ? keys * panel_lanes : 0)),
        ranges(reinterpret_cast<std::int32_t*>(from.take(s.modified() ? 2 * s.range_count * panel_lanes : 0))),
        segments(reinterpret_cast<std::int32_t*>(from.take(s.modified() ? panel_lanes : 0))) {}
};

/// Reads the terms of `queries` queries from q on, and of the keys from k on.
inline void read_terms(const attention_shape& s, std::int64_t b, std::int64_t n, std::int64_t q, std::int64_t queries,
                       std::int64_t k, std::int64_t keys, const term_panels& to) noexcept {
  constexpr std::int64_t lanes = panel_lanes;
  if (s.bias.data != nullptr)
    microkernels_for(best_gemm_machine())
        .pack({to.bias, lanes, queries, keys, s.bias.at(b, n, q, k), s.bias.query_stride, s.bias.key_stride});
  for (std::int64_t r = 0; r < 2 * s.range_count; ++r)
    for (std::int64_t c = 0; c < queries; ++c) to.ranges[r * lanes + c] = *s.ranges.at(b, n, q + c, r);
  for (std::int64_t c = 0; c < queries && s.q_segments.data != nullptr; ++c)
    to.segments[c] = *s.q_segments.at(b, n, q + c, 0);
  if (s.mask.data == nullptr) return;
  for (std::int64_t c = 0; c < queries; ++c) {
    const bool* const row = s.mask.at(b, n, q + c, k);
    for (std::int64_t j = 0; j < keys; ++j) to.hidden[j * lanes + c] = row[j * s.mask.key_stride] ? 0.0f : 1.0f;
  }
}

/// The queries in the lanes from c on that see a key by their ranges and segments.
inline mask sees_key(const attention_shape& s, const term_panels& terms, std::int64_t c, std::int64_t key,
                     std::int32_t segment) noexcept {
  const i32v at(static_cast<std::int32_t>(key));
  mask seen(s.range_count == 0);
  for (std::int64_t r = 0; r < s.range_count; ++r) {
    const std::int32_t* const first = terms.ranges + 2 * r * panel_lanes + c;
    const mask begun = to_mask(i32v::load_unaligned(first) <= at);
    seen = seen | (begun & to_mask(at < i32v::load_unaligned(first + panel_lanes)));
  }
  if (s.q_segments.data == nullptr) return seen;
  return seen & to_mask(i32v::load_unaligned(terms.segments + c) == i32v(segment));
}

/// Changes scores [keys, panel_lanes] as the shape says. The result is scaled.
inline void modify_scores(const attention_shape& s, float* scores, std::int64_t b, std::int64_t n, std::int64_t q,
                          std::int64_t queries, std::int64_t k, std::int64_t keys, const term_panels& terms) noexcept {
  const f32v nothing(hidden_score);
  const i32v behind(static_cast<std::int32_t>(s.left >= 0 ? std::min(s.left, s.queries) : s.queries));
  const i32v ahead(static_cast<std::int32_t>(s.ahead()));
  const bool window = s.left >= 0 || s.ahead() < s.keys, segments = s.q_segments.data != nullptr;
  for (std::int64_t c = 0; c < queries; c += width) {
    const i32v position = iota() + i32v(static_cast<std::int32_t>(q + c - k));  // of the queries, from key k on
    const i32v first = position - behind, last = position + ahead;
    for (std::int64_t j = 0; j < keys; ++j) {
      float* const at = scores + j * panel_lanes + c;
      f32v slope, bias(0.0f);
      if (s.bias.data != nullptr) bias = load(terms.bias + j * panel_lanes + c);
      f32v x = raised_score(modified_score(s, load(at), bias, slope));
      if (s.mask.data != nullptr) x = select(load(terms.hidden + j * panel_lanes + c) != f32v(0.0f), nothing, x);
      if (s.range_count > 0 || segments)
        x = select(sees_key(s, terms, c, k + j, segments ? *s.k_segments.at(b, n, q, k + j) : 0), x, nothing);
      if (window) {
        const i32v key(static_cast<std::int32_t>(j));
        x = select(to_mask(key < first), nothing, select(to_mask(last < key), nothing, x));
      }
      store(at, x);
    }
  }
}

/// The biases of one query for up to panel_lanes keys, and 1 for those that are hidden from it. `pairs` is how many it sees.
struct query_terms {
  float biases[panel_lanes] = {}, hidden[panel_lanes] = {};

  query_terms(const attention_shape& s, const pair_block& at, visible pairs) noexcept {
    if (s.bias.data != nullptr)
      for (std::int64_t j = 0; j < at.keys; ++j) biases[j] = s.bias.at(at.b, at.n, at.q, at.k)[j * s.bias.key_stride];
    if (pairs == visible::all) return;
    hide_keys(s, at, hidden);
    const std::int64_t first = s.first_key(at.q) - at.k, last = s.key_end(at.q) - at.k;
    for (std::int64_t j = 0; j < at.keys && j < first; ++j) hidden[j] = 1.0f;
    for (std::int64_t j = std::max<std::int64_t>(0, last); j < at.keys; ++j) hidden[j] = 1.0f;
  }
  mask hides(std::int64_t lane) const noexcept { return load(hidden + lane) != f32v(0.0f); }
};

/// Changes scores [panel_lanes] of one query, keys in the lanes, and d, the products of values and the cotangent of the result,
/// so that p * (d - delta) is the cotangent of the scaled score. `pairs` is how many of the keys are seen.
inline void modify_score_row(const attention_shape& s, const pair_block& at, visible pairs, float* scores, float* d,
                             float delta) noexcept {
  const query_terms terms(s, at, pairs);
  const f32v shift(delta);
  for (std::int64_t c = 0; c < panel_lanes; c += width) {
    f32v slope;
    const f32v x = raised_score(modified_score(s, load(scores + c), load(terms.biases + c), slope));
    store(scores + c, select(terms.hides(c), f32v(hidden_score), x));
    store(d + c, select(terms.hides(c), shift, fma(load(d + c) - shift, slope, shift)));
  }
}

/// Does a query with this highest score, to base 2, and this sum of powers see no key?
inline bool sees_nothing(float highest, float total) noexcept {
  return highest <= hidden_score * log2_e * 0.999f && total == total;
}

/// to = the mean of the values of a key head, over all keys.
inline void mean_of_values(const attention_shape& s, const heads_view<const void>& value, std::int64_t b,
                           std::int64_t kv, float* to, float* copy) noexcept {
  std::fill_n(to, s.head_size, 0.0f);
  for (std::int64_t k = 0; k < s.keys; ++k)
    write_row(to, false, s.head_size, read_row(value.at(b, k, kv), value.bfloat16, s.head_size, copy),
              1.0f / static_cast<float>(s.keys), true);
}

}  // namespace tokamax::cpu_backend::detail
