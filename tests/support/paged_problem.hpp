// tests/support/paged_problem.hpp: sequences of any lengths with a cache of shuffled pages, for tests of paged attention.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/ops/paged_attention.hpp>

#include <algorithm>
#include <random>
#include <vector>

#include "support/functions.hpp"

namespace tokamax::test {

inline array numbers_of(const std::vector<std::int32_t>& v) {
  return array::from<std::int32_t>(v, {static_cast<std::int64_t>(v.size())});
}

/// Sequences with their tokens and keys in a cache of shuffled pages.
struct paged_problem {
  std::vector<std::int32_t> q_lens, kv_lens;
  std::int64_t heads = 4, kv_heads = 2, head_size = 24, value_size = 24, page = 4;
  std::int64_t spare = 3;  // tokens of no sequence, behind the others
  dtype type = f32, cache_type = f32;
  std::int64_t more_pages = 1;   // of no sequence
  array q = {}, k = {}, v = {};  // of the new tokens
  paged_cache cache = {};
  paged_batch batch = {};

  std::int64_t tokens() const { return q.extent(0); }
  void make(unsigned seed) {
    std::mt19937 random(seed);
    const auto sequences = static_cast<std::int64_t>(kv_lens.size());
    std::int64_t columns = 1, total = 0;
    std::vector<std::int32_t> ends{0}, table;
    for (std::size_t r = 0; r < kv_lens.size(); ++r) {
      columns = std::max<std::int64_t>(columns, (kv_lens[r] + page - 1) / page);
      total += q_lens[r];
      ends.push_back(static_cast<std::int32_t>(total));
    }
    const std::int64_t pages = sequences * columns + more_pages;
    for (std::int32_t p = 0; p < pages; ++p) table.push_back(p);
    std::shuffle(table.begin(), table.end(), random);
    table.resize(static_cast<std::size_t>(sequences * columns));
    const auto filled = [&](const shape& s, unsigned n, dtype t) -> array {
      if (t == i8) return astype(noise(s, seed + n) * 100.0f, i8);
      return astype(noise(s, seed + n) * 2.0f, t);
    };
    q = filled({total + spare, heads, head_size}, 1, type);
    k = filled({total + spare, kv_heads, head_size}, 2, type);
    v = filled({total + spare, kv_heads, value_size}, 3, type);
    cache.keys = filled({pages, page, kv_heads, head_size}, 4, cache_type);
    cache.values = filled({pages, page, kv_heads, value_size}, 5, cache_type);
    batch = {numbers_of(kv_lens), array::from<std::int32_t>(table, {sequences, columns}), numbers_of(ends),
             numbers_of({static_cast<std::int32_t>(sequences)})};
  }
};

}  // namespace tokamax::test
