// tokamax/backend/cpu/gemm/few_rows.hpp: products of few rows, which read B once at the speed of memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/problem.hpp>    // gemm_problem, pack_lanes
#include <tokamax/backend/cpu/vector/simd.hpp>     // load, store
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch

#include <algorithm>  // min, max
#include <cstdint>    // int64_t

namespace tokamax::simd::detail {

/// Is C so low that blocks of A need not wait in the caches?
inline bool has_few_rows(const gemm_problem& g, const gemm_kernels& kernels) noexcept {
  return kernels.unit == 1 && g.m <= 2 * kernels.rows && g.m <= 16;
}

/// How the tiles get at B.
enum class b_source {
  panels,  ///< packed before
  memory,  ///< as it is: its rows are contiguous
  turned,  ///< as it is: its columns are contiguous
  rows,    ///< rows, through panels that stay in the first level cache
  columns  ///< columns, the same
};

inline b_source source_of_b(const gemm_problem& g, const gemm_kernels& kernels) noexcept {
  if (g.packed.data != nullptr) return b_source::panels;
  const bool columns = g.b.column_stride != 1 && g.n != 1;
  const bool as_it_is = kernels.b_in_place && g.b.element_bytes() * kernels.terms == 4;
  if (!columns) return as_it_is && g.k % kernels.terms == 0 ? b_source::memory : b_source::rows;
  const bool turned = as_it_is && g.b.row_stride == 1 && g.m <= turned_rows && kernels.turned[g.m] != nullptr;
  return turned ? b_source::turned : b_source::columns;
}

/// A stripe of columns of C is summed `burst` terms at a time. Rows of B are read in long runs, while the sums stay in
/// the first level cache; more rows of A hide more of the memory's latency and want fewer loads and stores of the sums.
/// One row of A and a B past the caches wait for memory alone: few runs, as long as can be.
struct few_rows_plan {
  b_source source;
  std::int64_t tile, stripe, burst;  ///< columns of a tile, columns of a stripe, terms

  few_rows_plan(const gemm_problem& g, const gemm_kernels& kernels, std::int64_t height, std::int64_t block,
                int threads) noexcept
      : source(source_of_b(g, kernels)) {
    tile = source == b_source::memory   ? kernels.wide_columns[height]
           : source == b_source::turned ? turned_columns
                                        : kernels.columns;
    const bool short_bursts = (source == b_source::memory || source == b_source::rows) && g.m <= 6;
    const bool far = source == b_source::memory && g.m == 1 && g.k * g.n >= std::int64_t{1} << 22;  // 16 MB
    const bool near = source == b_source::memory && g.m == 1 && !far;
    burst = short_bursts ? kernels.terms * (far ? 4 : near ? 32 : g.m <= 2 ? 8 : 16) : block;
    const std::int64_t longest = source == b_source::columns  ? tile
                                 : source == b_source::turned ? 4 * tile
                                 : far                        ? g.n
                                 : !short_bursts              ? 4 * tile
                                 : source == b_source::memory ? std::max<std::int64_t>(512, 4096 / g.m)
                                                              : 512;
    stripe = round_up(std::min(longest, ceil_div(g.n, threads)), tile);
  }
};

/// to += from, in f32 or in the int32 that lie there.
inline void add_sums(bool integer, float* to, const float* from, std::int64_t n) noexcept {
  const auto sum = [integer](f32v a, f32v b) {
    return integer ? bitcast<f32v>(bitcast<i32v>(a) + bitcast<i32v>(b)) : a + b;
  };
  std::int64_t j = 0;
  for (; j + width <= n; j += width) store(to + j, sum(load(to + j), load(from + j)));
  if (j < n) store_partial(to + j, sum(load_partial(to + j, n - j), load_partial(from + j, n - j)), n - j);
}

struct gemm_staged_b;

/// All rows of C, one stripe of columns after the other.
inline void gemm_few_rows(const gemm_problem& g, const gemm_kernels& kernels, int threads) {
  const std::int64_t nr = kernels.columns, terms = kernels.terms, block = gemm_k_block(g.k, kernels);
  const std::int64_t panels = ceil_div(g.m, kernels.rows);
  const std::int64_t height = ceil_div(g.m, panels);  // even heights, so that no panel is a thin rest
  const few_rows_plan plan(g, kernels, height, block, threads);

  tile_rows a = rows_in_place(g, kernels, 0, 0);
  std::int64_t a_panel = height * a.row;  // distance between panels
  if (!reads_a_in_place(g, kernels)) {
    a_panel = height * packed_steps_of(kernels, g.k) * kernels.a_words;
    float* const packed = scratch<gemm_packed_a>(panels * a_panel);
    a = rows_of_panel(kernels, packed, height);
    for (std::int64_t i = 0; i < panels; ++i)
      pack_lanes(kernels, packed + i * a_panel, height, std::min(height, g.m - i * height), g.k, g.a, i * height, 0,
                 true);
  }

  const std::int64_t most = std::min(plan.burst, block), staged_size = plan.stripe * panel_steps_of(kernels, most);
  const bool stage = plan.source == b_source::rows || plan.source == b_source::columns;
  float* const sums = scratch<gemm_packed_b>(threads * g.m * plan.stripe);
  float* const staged = stage ? scratch<gemm_staged_b>(threads * staged_size) : nullptr;
  const auto compute_stripe = [&](std::int64_t t) {
    const int thread = threads > 1 ? thread_index() : 0;
    const std::int64_t col = t * plan.stripe, cols = std::min(plan.stripe, g.n - col);
    float *const mine = sums + thread * g.m * plan.stripe, *const mine_b = staged + thread * staged_size;
    for (std::int64_t p = 0; p < g.k; p += block) {
      const std::int64_t steps = std::min(block, g.k - p);
      const bool add = p > 0 || g.mode == gemm_mode::accumulate;
      const bool apart = add && steps > plan.burst;  // sums that C may not hold yet
      float* const to = apart ? mine : g.c + col;
      const std::int64_t ldt = apart ? plan.stripe : g.ldc;
      for (std::int64_t q = 0; q < steps; q += plan.burst) {
        const std::int64_t now = std::min(plan.burst, steps - q);
        const tile_mode mode = q > 0 ? tile_mode::resume : add && !apart ? tile_mode::add : tile_mode::assign;
        const auto* b = reinterpret_cast<const std::byte*>(mine_b);
        // distances: of packed steps, and in bytes of columns
        std::int64_t b_step = nr, b_column = 4 * panel_steps_of(kernels, now);
        if (plan.source == b_source::memory || plan.source == b_source::turned) {
          b = g.b.at(p + q, col);
          b_step = plan.source == b_source::memory ? g.b.row_stride : g.b.column_stride;
          b_column = g.b.column_stride * g.b.element_bytes();
        } else if (plan.source == b_source::panels) {
          b = reinterpret_cast<const std::byte*>(g.packed.at(kernels, p, steps, col / nr));
        } else {
          pack_b(g, kernels, mine_b, p + q, now, col / nr, ceil_div(col + cols, nr));
        }
        for (std::int64_t i = 0; i < panels; ++i) {
          const std::int64_t row = i * height, rows = std::min(height, g.m - row);
          const bool turned = plan.source == b_source::turned;
          const bool wide = plan.source == b_source::memory;
          const bool twins = plan.source == b_source::panels && rows <= 2 && kernels.twin[rows] != nullptr;
          for (std::int64_t j = 0, step = 0; j < cols; j += step) {
            const bool both = twins && cols - j >= 2 * nr;
            step = turned ? plan.tile : wide ? kernels.wide_columns[rows] : both ? 2 * nr : nr;
            const auto tile = turned ? kernels.turned[rows]
                              : wide ? kernels.wide[rows]
                              : both ? kernels.twin[rows]
                                     : kernels.tile[rows];
            tile(turned ? now : packed_steps_of(kernels, now), a.data + i * a_panel + (p + q) / terms * a.step, a.row,
                 a.step, reinterpret_cast<const float*>(b + j * b_column), b_step, to + row * ldt + j, ldt,
                 std::min(step, cols - j), mode);
          }
        }
      }
      if (!apart) continue;
      for (std::int64_t i = 0; i < g.m; ++i)
        add_sums(kernels.integer, g.c + i * g.ldc + col, mine + i * plan.stripe, cols);
    }
    finish(g, 0, col, g.m, cols);
  };
  const std::int64_t stripes = ceil_div(g.n, plan.stripe);
  if (threads == 1) {
    for (std::int64_t t = 0; t < stripes; ++t) compute_stripe(t);
  } else {
    parallel_for(stripes, compute_stripe);
  }
}

}  // namespace tokamax::simd::detail
