// tokamax/backend/cpu/attention/paged_groups.hpp: the operands of paged attention, and its work in groups of tokens.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/paged.cpp
#pragma once

#include <tokamax/backend/cpu/attention/row_task.hpp>  // keys_of_row_task

#include <algorithm>  // max, clamp
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
  bool same_bits = false;              ///< does the order of a token's sums depend on its position alone?

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

/// Some tokens of one sequence, which read its keys together, in parts. A part is a task; with blocked products it is one for
/// each key head.
struct paged_group {
  std::int64_t token, tokens;
  std::int64_t sequence = -1;                       // -1: these tokens have none
  std::int64_t first_key = 0, key_end = 0;          // of all of these tokens
  std::int64_t part = keys_of_row_task, parts = 0;  // the keys of a part, and their number
  std::int64_t first_task = 0, tasks_of_part = 1;
  std::int64_t partial = 0;  // where the results of the first part begin, in floats
  bool blocked = false;

  std::int64_t tasks() const noexcept { return parts * tasks_of_part; }
};

/// The floats of the partial_rows of a part. Row (kv * tokens + token) * G + g has query g of a token for the key head kv.
inline std::int64_t floats_of_part(const paged_attention_shape& s, std::int64_t tokens) noexcept {
  return tokens * s.heads * (2 + up_to(s.value_size, width));
}

/// The most tokens of a group: enough to use a key that was read, and few enough for its results to stay in the cache.
inline std::int64_t most_tokens(const paged_attention_shape& s, bool blocked) noexcept {
  return std::max<std::int64_t>(1, (blocked ? 256 : 8) / s.queries());
}

/// Are the pages of all keys of a group in the cache?
inline bool knows_pages(const paged_attention_shape& s, const paged_group& g) noexcept {
  const std::int32_t* const table = s.page_indices + g.sequence * s.columns;
  for (std::int64_t i = g.first_key / s.page_size; i * s.page_size < g.key_end; ++i)
    if (table[i] < 0 || table[i] >= s.pages) return false;
  return true;
}

/// Cuts the tokens into groups, and returns their number. `ends` has room for T + 1 numbers.
inline std::int64_t group_tokens(const paged_attention_shape& s, std::int64_t* ends, paged_group* groups) noexcept {
  std::fill_n(ends, s.tokens + 1, 0);
  for (std::int64_t r = 0; r < s.num_seqs; ++r) ++ends[std::clamp<std::int64_t>(s.cu_q_lens[r + 1], 0, s.tokens)];
  std::int64_t n = 0, found = 0, most = 0;
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    found += ends[t];  // the sequences that end before this token
    const std::int64_t sequence = found < s.num_seqs && t >= s.cu_q_lens[0] ? found : -1;
    if (n == 0 || groups[n - 1].sequence != sequence || groups[n - 1].tokens == most) {
      const std::int64_t left = sequence < 0 ? 0 : s.cu_q_lens[sequence + 1] - t;  // of this sequence
      const bool blocked =  // sums of products depend on the rows that are computed with a row
          !s.same_bits && left * s.queries() >= block_queries && s.head_size > 0 && s.value_size > 0;
      most = most_tokens(s, blocked);
      groups[n] = {.token = t, .tokens = 0, .sequence = sequence}, groups[n++].blocked = blocked;
    }
    ++groups[n - 1].tokens;
  }
  return n;
}

/// Writes the groups of all tokens, at most T of them, and returns their number. `ends` has room for T + 1 numbers.
inline std::int64_t find_groups(const paged_attention_shape& s, std::int64_t* ends, paged_group* groups) noexcept {
  const std::int64_t n = group_tokens(s, ends, groups);
  std::int64_t blocked = 0, tasks = 0, partial = 0;
  for (paged_group* g = groups; g != groups + n; ++g) {
    if (g->sequence < 0) continue;
    g->first_key = s.first_key(g->sequence, g->token);
    if (s.same_bits) g->first_key -= g->first_key % keys_of_row_task;  // the parts of all groups begin at the same keys
    g->key_end = std::max(g->first_key, s.key_end(g->sequence, g->token + g->tokens - 1));
    g->blocked = g->blocked && knows_pages(s, *g);
    blocked += g->blocked ? s.kv_heads : 0;
  }
  // Few groups have many parts, so that there are tasks for many threads.
  const std::int64_t most_parts = std::max<std::int64_t>(1, 64 / std::max<std::int64_t>(1, blocked));
  for (paged_group* g = groups; g != groups + n; ++g) {
    const std::int64_t keys = g->key_end - g->first_key;
    if (g->blocked) g->part = up_to(std::max(keys_of_row_task, parts_of(keys, most_parts)), 128);
    g->tasks_of_part = g->blocked ? s.kv_heads : 1;
    g->first_task = tasks, g->parts = parts_of(keys, g->part), g->partial = partial;
    tasks += g->tasks(), partial += g->parts * floats_of_part(s, g->tokens);
  }
  return n;
}

}  // namespace detail
}  // namespace tokamax::cpu_backend
