// tokamax/backend/cpu/gemm/blocked.hpp: products of many rows, in blocks that stay in the caches.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/problem.hpp>    // gemm_problem, pack_b
#include <tokamax/backend/cpu/vector/simd.hpp>     // finish_streams
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch

#include <algorithm>  // min, max
#include <cstddef>    // byte
#include <cstdint>    // int64_t, uintptr_t

namespace tokamax::simd::detail {

// The sizes of tasks, into which the columns (in panels) and rows of C are cut.
struct gemm_split {
  std::int64_t panels;  // panels of B in a task
  std::int64_t rows;    // panels of A in a task
};

// The cost of a split, in rows of tiles: of the tiles of a thread, of packing its B, and of reading data from the caches of
// other threads, at some 16 GB/s. The last cost arises if threads do not keep to rows of their own: now for A, and later for
// C, because loops give each thread a range of rows. The order along k is the same for every split, so the number of threads
// may decide.
inline gemm_split split_tasks(std::int64_t b_panels, std::int64_t a_panels, std::int64_t k, const gemm_kernels& kernels,
                              int threads) noexcept {
  gemm_split best{std::min<std::int64_t>(b_panels, 4), a_panels};
  if (threads == 1) return best;
  const auto count = [](std::int64_t i) { return static_cast<double>(i); };
  const double sharing = count(a_panels * kernels.rows) * (0.2 + 5.0 * count(b_panels) / count(k));
  double lowest = 1e300;
  for (std::int64_t panels = std::min<std::int64_t>(b_panels, 6); panels >= 1; --panels) {
    for (std::int64_t parts = 1; parts <= std::min<std::int64_t>(a_panels, 2 * threads); ++parts) {
      const std::int64_t rows = ceil_div(a_panels, parts);
      const std::int64_t tasks = ceil_div(b_panels, panels) * ceil_div(a_panels, rows);
      const std::int64_t rounds = ceil_div(tasks, threads);
      const double cost =
          count(rounds * panels * (rows * kernels.rows + kernels.pack_rows)) + (parts % threads == 0 ? 0.0 : sharing);
      if (cost < lowest * 0.99) {
        lowest = cost;
        best = {panels, rows};
      }
    }
  }
  return best;
}

// Is C written only once, and too large to stay in a cache until it is read?
inline bool streams(const gemm_problem& g, std::int64_t block) noexcept {
  constexpr std::int64_t large = std::int64_t{1} << 20;  // 4 MB
  return g.k <= block && g.mode == gemm_mode::assign && g.epilogue.apply == nullptr && g.m * g.n >= large &&
         g.ldc % 16 == 0 && reinterpret_cast<std::uintptr_t>(g.c) % 64 == 0;
}

inline void gemm_blocked(const gemm_problem& g, const gemm_kernels& kernels, int threads) {
  const std::int64_t mr = kernels.rows, nr = kernels.columns, terms = kernels.terms, a_words = mr * kernels.a_words;
  const std::int64_t block = gemm_k_block(g.k, kernels);
  // Super blocks of A (k_super x m_super) that stay in the last level cache while B streams by: 8 MB.
  constexpr std::int64_t budget = std::int64_t{1} << 21;
  const std::int64_t k_super = g.k <= 4096 ? g.k : std::max<std::int64_t>(1, 4096 / block) * block;
  const std::int64_t m_parts = ceil_div(g.m, std::max(mr * 8, budget / k_super));
  const std::int64_t m_super = round_up(ceil_div(g.m, m_parts), mr);
  const std::int64_t b_panels = ceil_div(g.n, nr);
  const std::int64_t most_panels = std::min<std::int64_t>(b_panels, 6);
  constexpr std::int64_t height = 8;  // panels of A that stay in the second level cache

  const auto first = streams(g, block) ? tile_mode::stream : tile_mode::assign;
  const bool in_place = reads_a_in_place(g, kernels);
  float* const packed_a =
      in_place ? nullptr : scratch<gemm_packed_a>(m_super * round_up(k_super, block) / terms * kernels.a_words);
  const std::int64_t mine_size = most_panels * nr * panel_steps_of(kernels, block);
  const bool ready = g.packed.data != nullptr;
  float* const packed_b = ready ? nullptr : scratch<gemm_packed_b>(threads * mine_size);

  for (std::int64_t k0 = 0; k0 < g.k; k0 += k_super) {
    const std::int64_t k1 = std::min(g.k, k0 + k_super);
    for (std::int64_t m0 = 0; m0 < g.m; m0 += m_super) {
      const std::int64_t m1 = std::min(g.m, m0 + m_super);
      const std::int64_t a_panels = ceil_div(m1 - m0, mr);
      // packed A: [k block][panel][k][mr], by groups of panels
      const std::int64_t group =
          g.a.row_stride == 1 ? std::min(64 / g.a.element_bytes(), ceil_div(a_panels, threads)) : 1;
      const std::int64_t groups = ceil_div(a_panels, group);
      const auto pack_a = [&](std::int64_t i) {
        const std::int64_t panel = i * group, together = std::min(group, a_panels - panel);
        for (std::int64_t p = k0; p < k1; p += block) {
          const std::int64_t steps = std::min(block, k1 - p), panel_size = a_words * packed_steps_of(kernels, steps);
          pack_panels(kernels, packed_a + (p - k0) / terms * a_panels * a_words + panel * panel_size, panel_size,
                      together, g.a, true, m1, m0 + panel * mr, p, steps);
        }
      };
      const auto rows_of = [&](std::int64_t i, std::int64_t p, std::int64_t packed_steps) -> tile_rows {
        if (in_place) return rows_in_place(g, kernels, m0 + i * mr, p);
        return rows_of_panel(kernels, packed_a + ((p - k0) / terms * a_panels + i * packed_steps) * a_words, mr);
      };
      const gemm_split split = split_tasks(b_panels, a_panels, k1 - k0, kernels, threads);
      const std::int64_t across = ceil_div(b_panels, split.panels);
      const std::int64_t down = ceil_div(a_panels, split.rows);
      const auto run_task = [&](std::int64_t task) {
        const std::int64_t panel0 = (task % across) * split.panels;
        const std::int64_t panel1 = std::min(b_panels, panel0 + split.panels);
        const std::int64_t row0 = (task / across) * split.rows;
        const std::int64_t row1 = std::min(a_panels, row0 + split.rows);
        float* const mine = packed_b + (threads > 1 ? thread_index() : 0) * mine_size;
        for (std::int64_t p = k0; p < k1; p += block) {
          const std::int64_t steps = std::min(block, k1 - p), packed_steps = packed_steps_of(kernels, steps);
          const std::int64_t panel_size = nr * panel_steps_of(kernels, steps);
          const float* const b = ready ? g.packed.at(kernels, p, steps, panel0) : mine;
          if (!ready) pack_b(g, kernels, mine, p, steps, panel0, panel1);
          const tile_scope tiles(kernels, g.m);
          const auto mode = p > 0 || g.mode == gemm_mode::accumulate ? tile_mode::add : first;
          for (std::int64_t i0 = row0; i0 < row1; i0 += height) {
            const std::int64_t i1 = std::min(row1, i0 + height);
            for (std::int64_t j = panel0; j < panel1; ++j) {
              const std::int64_t cols = std::min(nr, g.n - j * nr);
              for (std::int64_t i = i0; i < i1; ++i) {
                const std::int64_t row = m0 + i * mr;
                const tile_rows a = rows_of(i, p, packed_steps);
                kernels.tile[std::min(mr, m1 - row)](packed_steps, a.data, a.row, a.step, b + (j - panel0) * panel_size,
                                                     nr, g.c + row * g.ldc + j * nr, g.ldc, cols, mode);
              }
              if (p + steps == g.k) finish(g, m0 + i0 * mr, j * nr, std::min(m1, m0 + i1 * mr) - m0 - i0 * mr, cols);
            }
          }
        }
        if (first == tile_mode::stream) finish_streams();
      };
      if (threads == 1) {
        for (std::int64_t i = 0; i < groups && !in_place; ++i) pack_a(i);
        for (std::int64_t t = 0; t < across * down; ++t) run_task(t);
      } else {
        if (!in_place) parallel_for(groups, pack_a);
        parallel_for(across * down, run_task);
      }
    }
  }
}

}  // namespace tokamax::simd::detail
