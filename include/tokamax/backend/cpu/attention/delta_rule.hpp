// tokamax/backend/cpu/attention/delta_rule.hpp: the gated delta rule of many sequences and heads, on several threads.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/gated_delta_rule/op.cpp
#pragma once

#include <tokamax/backend/cpu/attention/delta_rule_head.hpp>  // delta_rule_head

#include <algorithm>  // clamp, fill_n
#include <cstring>    // memcpy

namespace tokamax::cpu_backend {

namespace detail {
struct delta_rule_written;
struct delta_rule_dropped;

/// Copies the slots that no sequence writes, and clears the results of all tokens, since some may belong to none.
inline void prepare_delta_rule(const delta_rule_shape& s, const float* from, float* to, float* out) {
  const auto each = static_cast<std::size_t>(s.heads * s.state_size()) * sizeof(float);
  std::memset(out, 0, static_cast<std::size_t>(s.tokens * s.heads * s.value_size) * sizeof(float));
  if (from == to) return;
  bool* const written = scratch<delta_rule_written, bool>(s.slot_count + 4);
  std::fill_n(written, s.slot_count, false);
  for (std::int64_t r = 0; r < s.sequences; ++r)
    if (s.to[r] >= 0 && s.to[r] < s.slot_count) written[s.to[r]] = true;
  parallel_for(s.slot_count, [=, &s](std::int64_t i) {
    const std::int64_t at = i * s.heads * s.state_size();
    if (!written[i]) std::memcpy(to + at, from + at, each);
  });
}
}  // namespace detail

/// The gated delta rule, from states [S, N, D, E] to states that may lie in the same memory.
///
/// A task is a head of a sequence. So the bits do not depend on the number of threads.
///
/// memory  50 KB a thread and 0.7 KB for each feature of a head
/// source  Yang et al. 2024, arXiv:2406.06484: chunks in the form of WY; here with forward substitution
inline void delta_rule(const delta_rule_shape& s, const delta_rule_operands& x, const float* from, float* to) {
  using namespace detail;
  const std::int64_t size = s.state_size(), whole = s.sequences == 0 ? 0 : s.tokens / s.sequences;
  if (s.first != nullptr) prepare_delta_rule(s, from, to, x.out);
  parallel_for(s.sequences * s.heads, [=, &s, &x](std::int64_t task) {
    const std::int64_t r = task / s.heads, head = task % s.heads;
    std::int64_t t = r * whole, n = whole, reads = r, writes = r;
    if (s.first != nullptr) {
      t = std::clamp<std::int64_t>(s.first[r], 0, s.tokens);
      n = std::clamp<std::int64_t>(s.length[r], 0, s.tokens - t);
      reads = s.from[r] < s.slot_count ? s.from[r] : -1, writes = s.to[r] < s.slot_count ? s.to[r] : -1;
    }
    if (n == 0 && writes < 0) return;
    float* const state = writes >= 0 ? to + (writes * s.heads + head) * size : scratch<delta_rule_dropped>(size + 1);
    const float* begin = state;
    if (reads >= 0)
      begin = from + (reads * s.heads + head) * size;
    else
      std::fill_n(state, size, 0.0f);
    if (n == 0 && begin != state) std::memcpy(state, begin, static_cast<std::size_t>(size) * sizeof(float));
    delta_rule_head(s, x, head).run(t, n, begin, state);
  });
}

}  // namespace tokamax::cpu_backend
