// tokamax/backend/cpu/attention/visible.hpp: how much of a block of queries and keys masks, ranges and segments let through.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/options.cpp
#pragma once

#include <tokamax/backend/cpu/attention/blocks.hpp>  // attention_shape

#include <cstring>  // memchr

namespace tokamax::cpu_backend::detail {

/// How many of the pairs of some queries and keys are seen. `some` may also be said where it is none or all.
enum class visible { none, some, all };

/// What two conditions let through together.
constexpr visible both_visible(visible a, visible b) noexcept { return a < b ? a : b; }
/// What two sets of pairs, each with its own answer, have together.
constexpr visible joined_visible(visible a, visible b) noexcept { return a == b ? a : visible::some; }

/// Queries and keys of a head that lie side by side.
struct pair_block {
  std::int64_t b, n, q, queries, k, keys;
};

/// By the causal rule and the window.
inline visible visible_positions(const attention_shape& s, const pair_block& at) noexcept {
  const std::int64_t last = at.q + at.queries - 1, end = at.k + at.keys;
  if (end <= s.first_key(at.q) || at.k >= s.key_end(last)) return visible::none;
  return at.k >= s.first_key(last) && end <= s.key_end(at.q) ? visible::all : visible::some;
}
/// By the ranges of one query.
inline visible visible_range(const attention_shape& s, const pair_block& at, std::int64_t q) noexcept {
  visible found = visible::none;
  for (std::int64_t r = 0; r < s.range_count; ++r) {
    const std::int64_t first = *s.ranges.at(at.b, at.n, q, 2 * r), end = *s.ranges.at(at.b, at.n, q, 2 * r + 1);
    if (first <= at.k && end >= at.k + at.keys) return visible::all;
    if (first < end && first < at.k + at.keys && end > at.k) found = visible::some;
  }
  return found;
}
/// By the booleans of one query.
inline visible visible_row(const attention_shape& s, const pair_block& at, std::int64_t q) noexcept {
  const bool* const row = s.mask.at(at.b, at.n, q, at.k);
  if (s.mask.key_stride == 0) return *row ? visible::all : visible::none;
  bool some = false, every = true;
  if (s.mask.key_stride == 1) {
    some = std::memchr(row, 1, static_cast<std::size_t>(at.keys)) != nullptr;
    every = some && std::memchr(row, 0, static_cast<std::size_t>(at.keys)) == nullptr;
  } else {
    for (std::int64_t j = 0; j < at.keys; ++j) some |= row[j * s.mask.key_stride], every &= row[j * s.mask.key_stride];
  }
  return every ? visible::all : some ? visible::some : visible::none;
}
/// By the lowest and highest segments of the queries and of the keys.
inline visible visible_segments(const attention_shape& s, const pair_block& at) noexcept {
  std::int32_t low[2], high[2];
  const auto bound = [](const std::int32_t* x, std::int64_t n, std::int64_t stride, std::int32_t& l, std::int32_t& h) {
    l = h = *x;
    for (std::int64_t i = 1; i < n && stride != 0; ++i) l = std::min(l, x[i * stride]), h = std::max(h, x[i * stride]);
  };
  bound(s.q_segments.at(at.b, at.n, at.q, 0), at.queries, s.q_segments.query_stride, low[0], high[0]);
  bound(s.k_segments.at(at.b, at.n, 0, at.k), at.keys, s.k_segments.key_stride, low[1], high[1]);
  if (high[0] < low[1] || high[1] < low[0]) return visible::none;
  return low[0] == high[0] && low[1] == high[1] ? visible::all : visible::some;
}

/// How much of a block does anything let through? The answer is the same for any number of threads.
inline visible visible_pairs(const attention_shape& s, const pair_block& at) noexcept {
  visible seen = visible_positions(s, at);
  const auto by_rows = [&](std::int64_t stride, auto row) {
    if (seen == visible::none) return;
    visible of_rows = row(at.q);
    for (std::int64_t i = 1; i < at.queries && stride != 0 && of_rows != visible::some; ++i)
      of_rows = joined_visible(of_rows, row(at.q + i));
    seen = both_visible(seen, of_rows);
  };
  if (s.range_count > 0) by_rows(s.ranges.query_stride, [&](std::int64_t q) { return visible_range(s, at, q); });
  if (s.q_segments.data != nullptr && seen != visible::none) seen = both_visible(seen, visible_segments(s, at));
  if (s.mask.data != nullptr) by_rows(s.mask.query_stride, [&](std::int64_t q) { return visible_row(s, at, q); });
  return seen;
}

/// Writes 1 for the keys that the ranges, the segments and the mask hide from the first query, and leaves the others 0.
inline void hide_keys(const attention_shape& s, const pair_block& at, float* hidden) noexcept {
  if (s.range_count > 0) std::fill_n(hidden, at.keys, 1.0f);
  for (std::int64_t r = 0; r < s.range_count; ++r) {
    const std::int64_t first = *s.ranges.at(at.b, at.n, at.q, 2 * r), end = *s.ranges.at(at.b, at.n, at.q, 2 * r + 1);
    const std::int64_t from = std::max<std::int64_t>(0, first - at.k), to = std::min(at.keys, end - at.k);
    if (from < to) std::fill_n(hidden + from, to - from, 0.0f);
  }
  if (s.q_segments.data != nullptr) {
    const std::int32_t segment = *s.q_segments.at(at.b, at.n, at.q, 0);
    const std::int32_t* const keys = s.k_segments.at(at.b, at.n, 0, at.k);
    for (std::int64_t j = 0; j < at.keys; ++j)
      if (keys[j * s.k_segments.key_stride] != segment) hidden[j] = 1.0f;
  }
  if (s.mask.data == nullptr) return;
  const bool* const row = s.mask.at(at.b, at.n, at.q, at.k);
  for (std::int64_t j = 0; j < at.keys; ++j)
    if (!row[j * s.mask.key_stride]) hidden[j] = 1.0f;
}

}  // namespace tokamax::cpu_backend::detail
