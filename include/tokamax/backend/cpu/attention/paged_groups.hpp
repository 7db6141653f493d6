// tokamax/backend/cpu/attention/paged_groups.hpp: the operands of paged attention, and its work in groups of tokens.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/paged.cpp
#pragma once

#include <tokamax/backend/cpu/attention/blocks.hpp>  // up_to, parts_of

#include <algorithm>  // min, max, clamp
#include <cstdint>    // int64_t, int32_t

namespace tokamax::cpu_backend {

/// Extents and options of paged attention, and which tokens and pages belong to which sequence.
struct paged_attention_shape {
  std::int64_t tokens;                 ///< T, of all sequences
  std::int64_t heads, kv_heads;        ///< N, a multiple of K
  std::int64_t head_size, value_size;  ///< H, h
  std::int64_t pages, page_size;       ///< P, and the rows of each
  std::int64_t sequences, columns;     ///< R, and the pages M that each may have
  float scale, soft_cap;               ///< of the scores; 0: no cap
  std::int64_t window;                 ///< the keys that a token sees; 0: all up to its own
  const std::int32_t* kv_lens;         ///< [R]
  const std::int32_t* page_indices;    ///< [R, M]
  const std::int32_t* cu_q_lens;       ///< [R + 1]
  std::int64_t num_seqs;               ///< at most R
  const float* sinks = nullptr;        ///< [N], or null

  std::int64_t queries() const noexcept { return heads / kv_heads; }  // of one token for a key head
  std::int64_t position(std::int64_t sequence, std::int64_t token) const noexcept {
    return std::int64_t{kv_lens[sequence]} - cu_q_lens[sequence + 1] + token;
  }
  /// One past the last key that a token sees, and the first one.
  std::int64_t key_end(std::int64_t sequence, std::int64_t token) const noexcept {
    return std::clamp<std::int64_t>(position(sequence, token) + 1, 0, columns * page_size);
  }
  std::int64_t first_key(std::int64_t sequence, std::int64_t token) const noexcept {
    return window > 0 ? std::max<std::int64_t>(0, position(sequence, token) + 1 - window) : 0;
  }
};

/// Keys or values in pages. Element (page, slot, head, i) has the index page * page_stride + slot * slot_stride + head *
/// head_stride + i.
struct pages_view {
  const void* data;
  std::int64_t page_stride, slot_stride, head_stride;
  const float* scales = nullptr;  ///< [P, page, K] dense, by which the elements are multiplied, or null
};

namespace detail {

/// The keys of one task. It is the same for any number of threads, because it decides the order of sums.
inline constexpr std::int64_t paged_part = 256;

/// Some tokens of one sequence, which read its keys together, in parts of which each is a task.
struct paged_group {
  std::int64_t token, tokens;
  std::int64_t sequence;            // -1: these tokens have none
  std::int64_t first_key, key_end;  // of all of these tokens
  std::int64_t first_task, tasks;
  std::int64_t partial;  // where the results of the first task begin, in floats
};

/// The floats that one task returns: for each row the highest score, the sum of weights, and the weighted values.
inline std::int64_t floats_of_part(const paged_attention_shape& s, std::int64_t tokens) noexcept {
  return tokens * s.heads * (2 + up_to(s.value_size, width));
}

/// The tokens that read keys together: about eight queries for a key head.
inline std::int64_t most_tokens(const paged_attention_shape& s) noexcept {
  return std::max<std::int64_t>(1, 8 / s.queries());
}

/// Writes the groups of all tokens, at most T of them, and returns their number. `ends` has room for T + 1 numbers.
inline std::int64_t find_groups(const paged_attention_shape& s, std::int64_t* ends, paged_group* groups) noexcept {
  std::fill_n(ends, s.tokens + 1, 0);
  for (std::int64_t r = 0; r < s.num_seqs; ++r) ++ends[std::clamp<std::int64_t>(s.cu_q_lens[r + 1], 0, s.tokens)];
  std::int64_t n = 0, found = 0, tasks = 0, partial = 0;
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    found += ends[t];  // the sequences that end before this token
    const std::int64_t sequence = found < s.num_seqs && t >= s.cu_q_lens[0] ? found : -1;
    if (n == 0 || groups[n - 1].sequence != sequence || groups[n - 1].tokens == most_tokens(s))
      groups[n++] = {t, 0, sequence, 0, 0, 0, 0, 0};
    ++groups[n - 1].tokens;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    paged_group& g = groups[i];
    if (g.sequence >= 0) {
      g.first_key = s.first_key(g.sequence, g.token);
      g.key_end = std::max(g.first_key, s.key_end(g.sequence, g.token + g.tokens - 1));
    }
    g.first_task = tasks, g.tasks = parts_of(g.key_end - g.first_key, paged_part), g.partial = partial;
    tasks += g.tasks, partial += g.tasks * floats_of_part(s, g.tokens);
  }
  return n;
}

}  // namespace detail
}  // namespace tokamax::cpu_backend
