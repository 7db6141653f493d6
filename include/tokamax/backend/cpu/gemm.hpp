// tokamax/backend/cpu/gemm.hpp: matrix products in f32 or bfloat16 with any strides, blocked and packed for the caches.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (kernels include it, and are compiled once)
#pragma once

#include <tokamax/backend/cpu/gemm_bfloat16.hpp>  // gemm_kernels_for
#include <tokamax/backend/cpu/gemm_problem.hpp>   // gemm_problem, matrix_view
#include <tokamax/backend/cpu/threads.hpp>        // parallel_for_dynamic, scratch

#include <algorithm>  // min, max, fill_n
#include <cstdint>    // int64_t

namespace tokamax::simd {

namespace detail {

// Few rows: B is read once, straight from memory, by tiles that are low and wide.
inline void gemm_few_rows(const gemm_problem& g, const gemm_kernels& kernels, int threads) noexcept {
  const std::int64_t block = gemm_k_block(g.k, kernels);
  const std::int64_t panels = ceil_div(g.m, kernels.rows);
  const std::int64_t height = ceil_div(g.m, panels);  // even heights, so that no panel is a thin rest
  const float* a = g.a.f32_at(0, 0);
  std::int64_t a_panel = height;  // distance between panels
  std::int64_t a_step = g.a.column_stride;
  if (g.a.row_stride != 1 && g.m > 1) {
    float* packed = scratch<gemm_packed_a>(panels * height * g.k);
    for (std::int64_t i = 0; i < panels; ++i) {
      pack_lanes(kernels, packed + i * height * g.k, height, std::min(height, g.m - i * height), g.k, g.a, i * height,
                 0, true);
    }
    a = packed;
    a_panel = height * g.k;
    a_step = height;
  }
  // A stripe of columns is summed a few steps at a time: B is read in long runs, the sums stay in the first level
  // cache. More rows hide more of the memory's latency and want fewer loads and stores of the sums.
  const std::int64_t wide = kernels.wide_columns[height];
  const std::int64_t burst = g.m <= 2 ? 8 : g.m <= 6 ? 16 : block;
  const std::int64_t stripe = burst == block ? wide : round_up(std::max<std::int64_t>(512, 4096 / g.m), wide);
  const std::int64_t tiles = ceil_div(g.n, stripe);
  float* const sums = scratch<gemm_packed_b>(threads * g.m * stripe);
  const auto tile_column = [&](std::int64_t t) {
    const std::int64_t col = t * stripe;
    const std::int64_t cols = std::min(stripe, g.n - col);
    float* const mine = sums + (threads > 1 ? thread_index() : 0) * g.m * stripe;
    for (std::int64_t p = 0; p < g.k; p += block) {
      const std::int64_t steps = std::min(block, g.k - p);
      const bool add = p > 0 || g.mode == gemm_mode::accumulate;
      const bool apart = add && steps > burst;  // sums that C may not hold yet
      float* const to = apart ? mine : g.c + col;
      const std::int64_t ldt = apart ? stripe : g.ldc;
      for (std::int64_t q = 0; q < steps; q += burst) {
        const tile_mode mode = q > 0 ? tile_mode::resume : add && !apart ? tile_mode::add : tile_mode::assign;
        for (std::int64_t i = 0; i < panels; ++i) {
          const std::int64_t row = i * height;
          const std::int64_t rows = std::min(height, g.m - row);
          const auto* fn = rows == height ? kernels.wide : kernels.tile;
          const std::int64_t step = rows == height ? wide : kernels.columns;
          for (std::int64_t j = 0; j < cols; j += step) {
            fn[rows](std::min(burst, steps - q), a + i * a_panel + (p + q) * a_step, a_step,
                     g.b.f32_at(p + q, 0) + col + j, g.b.row_stride, to + row * ldt + j, ldt, std::min(step, cols - j),
                     mode);
          }
        }
      }
      if (!apart) continue;
      for (std::int64_t i = 0; i < g.m; ++i) {
        float* const c = g.c + i * g.ldc + col;
        std::int64_t j = 0;
        for (; j + width <= cols; j += width) store(c + j, load(c + j) + load(mine + i * stripe + j));
        for (; j < cols; ++j) c[j] += mine[i * stripe + j];
      }
    }
    finish(g, 0, col, g.m, cols);
  };
  if (threads == 1) {
    for (std::int64_t t = 0; t < tiles; ++t) tile_column(t);
  } else {
    parallel_for(tiles, tile_column);
  }
}

// How the columns (in panels) and rows of C are cut into tasks.
struct gemm_split {
  std::int64_t panels;  // panels of B in a task
  std::int64_t rows;    // panels of A in a task
};

// Cost of a task in tile columns: its tiles and the packing of its B. The k order is the same for any split, so the
// number of threads may decide.
inline gemm_split split_tasks(std::int64_t b_panels, std::int64_t a_panels, const gemm_kernels& kernels,
                              int threads) noexcept {
  gemm_split best{std::min<std::int64_t>(b_panels, 4), a_panels};
  if (threads == 1) return best;
  double lowest = 1e300;
  for (std::int64_t panels = std::min<std::int64_t>(b_panels, 6); panels >= 1; --panels) {
    for (std::int64_t parts = 1; parts <= std::min<std::int64_t>(a_panels, 2 * threads); ++parts) {
      const std::int64_t rows = ceil_div(a_panels, parts);
      const std::int64_t tasks = ceil_div(b_panels, panels) * ceil_div(a_panels, rows);
      const double rounds = static_cast<double>(ceil_div(tasks, threads));
      const double cost =
          rounds * static_cast<double>(panels) * static_cast<double>(rows * kernels.rows + kernels.pack_rows);
      if (cost < lowest * 0.99) {
        lowest = cost;
        best = {panels, rows};
      }
    }
  }
  return best;
}

// Panels of B side by side, 16 packed steps at a time: whole rows of B are read, not one narrow column after the other.
inline void pack_b(const gemm_problem& g, const gemm_kernels& kernels, float* packed, std::int64_t p,
                   std::int64_t steps, std::int64_t panel0, std::int64_t panel1) noexcept {
  const std::int64_t nr = kernels.columns, packed_steps = packed_steps_of(kernels, steps);
  const std::int64_t chunk = g.b.column_stride == 1 ? 16 * kernels.terms : steps;
  for (std::int64_t q = 0; q < steps; q += chunk) {
    for (std::int64_t j = panel0; j < panel1; ++j) {
      pack_lanes(kernels, packed + (j - panel0) * nr * packed_steps + q / kernels.terms * nr, nr,
                 std::min(nr, g.n - j * nr), std::min(chunk, steps - q), g.b, p + q, j * nr, false);
    }
  }
  const std::int64_t filled = ceil_div(steps, kernels.terms);
  for (std::int64_t j = 0; j < panel1 - panel0; ++j)
    std::fill_n(packed + (j * packed_steps + filled) * nr, (packed_steps - filled) * nr, 0.0f);
}

// Asks for the next block of B while the tiles of this one are computed, a few lines before each tile.
class prefetch_queue {
 public:
  prefetch_queue(const gemm_problem& g, std::int64_t p, std::int64_t steps, std::int64_t col, std::int64_t cols,
                 std::int64_t tiles) noexcept {
    const bool rows = g.b.column_stride == 1;
    if (tiles <= 0 || steps <= 0 || cols <= 0 || (!rows && g.b.row_stride != 1)) return;
    next_ = g.b.at(p, col);
    stride_ = (rows ? g.b.row_stride : g.b.column_stride) * g.b.element_bytes();
    line_end_ = ceil_div((rows ? cols : steps) * g.b.element_bytes(), 64);
    left_ = line_end_ * (rows ? steps : cols);
    each_tile_ = ceil_div(left_, tiles);
  }
  void advance() noexcept {
    std::int64_t count = std::min(left_, each_tile_);
    left_ -= count;
    for (; count > 0; --count) {
      __builtin_prefetch(next_ + 64 * line_, 0, 2);
      if (++line_ == line_end_) {
        line_ = 0;
        next_ += stride_;
      }
    }
  }

 private:
  const std::byte* next_ = nullptr;
  std::int64_t stride_ = 0, line_ = 0, line_end_ = 1, left_ = 0, each_tile_ = 0;
};

// Is C written once, and too large to stay in a cache until it is read?
inline bool streams(const gemm_problem& g, std::int64_t block) noexcept {
  constexpr std::int64_t large = std::int64_t{1} << 20;  // 4 MB
  return g.k <= block && g.mode == gemm_mode::assign && g.epilogue.apply == nullptr && g.m * g.n >= large &&
         g.ldc % 16 == 0 && reinterpret_cast<std::uintptr_t>(g.c) % 64 == 0;
}

inline void gemm_blocked(const gemm_problem& g, const gemm_kernels& kernels, int threads) noexcept {
  const std::int64_t mr = kernels.rows, nr = kernels.columns, terms = kernels.terms;
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
  float* const packed_a = scratch<gemm_packed_a>(m_super * round_up(k_super, block));
  float* const packed_b = scratch<gemm_packed_b>(threads * most_panels * nr * block);

  for (std::int64_t k0 = 0; k0 < g.k; k0 += k_super) {
    const std::int64_t k1 = std::min(g.k, k0 + k_super);
    for (std::int64_t m0 = 0; m0 < g.m; m0 += m_super) {
      const std::int64_t m1 = std::min(g.m, m0 + m_super);
      const std::int64_t a_panels = ceil_div(m1 - m0, mr);
      // packed A: [k block][panel][k][mr]
      const auto pack_a = [&](std::int64_t i) {
        const std::int64_t row = m0 + i * mr;
        for (std::int64_t p = k0; p < k1; p += block) {
          const std::int64_t steps = std::min(block, k1 - p);
          pack_lanes(kernels, packed_a + (p - k0) / terms * a_panels * mr + i * mr * packed_steps_of(kernels, steps),
                     mr, std::min(mr, m1 - row), steps, g.a, row, p, true);
        }
      };
      const gemm_split split = split_tasks(b_panels, a_panels, kernels, threads);
      const std::int64_t across = ceil_div(b_panels, split.panels);
      const std::int64_t down = ceil_div(a_panels, split.rows);
      const auto run_task = [&](std::int64_t task) {
        const std::int64_t panel0 = (task / down) * split.panels;
        const std::int64_t panel1 = std::min(b_panels, panel0 + split.panels);
        const std::int64_t row0 = (task % down) * split.rows;
        const std::int64_t row1 = std::min(a_panels, row0 + split.rows);
        float* const mine = packed_b + (threads > 1 ? thread_index() : 0) * most_panels * nr * block;
        for (std::int64_t p = k0; p < k1; p += block) {
          const std::int64_t steps = std::min(block, k1 - p), packed_steps = packed_steps_of(kernels, steps);
          pack_b(g, kernels, mine, p, steps, panel0, panel1);
          const bool last = p + steps == k1;
          prefetch_queue ahead(
              g, last ? k0 : p + steps, last ? std::min(block, k1 - k0) : std::min(block, k1 - p - steps),
              (last ? panel1 : panel0) * nr, std::min(g.n - (last ? panel1 : panel0) * nr, (panel1 - panel0) * nr),
              kernels.prefetch ? (row1 - row0) * (panel1 - panel0) : 0);
          const tile_scope tiles(kernels);
          const auto mode = p > 0 || g.mode == gemm_mode::accumulate ? tile_mode::add : first;
          for (std::int64_t i0 = row0; i0 < row1; i0 += height) {
            const std::int64_t i1 = std::min(row1, i0 + height);
            for (std::int64_t j = panel0; j < panel1; ++j) {
              const std::int64_t cols = std::min(nr, g.n - j * nr);
              for (std::int64_t i = i0; i < i1; ++i) {
                const std::int64_t row = m0 + i * mr;
                ahead.advance();
                const float* const a = packed_a + (p - k0) / terms * a_panels * mr + i * mr * packed_steps;
                kernels.tile[std::min(mr, m1 - row)](packed_steps, a, mr, mine + (j - panel0) * nr * packed_steps, nr,
                                                     g.c + row * g.ldc + j * nr, g.ldc, cols, mode);
              }
              if (p + steps == g.k) finish(g, m0 + i0 * mr, j * nr, std::min(m1, m0 + i1 * mr) - m0 - i0 * mr, cols);
            }
          }
        }
        if (first == tile_mode::stream) wait_for_streams();
      };
      if (threads == 1) {
        for (std::int64_t i = 0; i < a_panels; ++i) pack_a(i);
        for (std::int64_t t = 0; t < across * down; ++t) run_task(t);
      } else {
        parallel_for(a_panels, pack_a);
        parallel_for_dynamic(across * down, run_task);
      }
    }
  }
}

inline void gemm_one(const gemm_problem& g, const gemm_kernels& kernels, int threads) noexcept;

// A small product: each thread computes its own part of C from its own packed copies, without waiting for the others.
// The longer side is cut, so that the least is packed twice.
inline void gemm_apart(const gemm_problem& g, const gemm_kernels& kernels, int threads) noexcept {
  const bool columns = ceil_div(g.n, kernels.columns) >= std::max<std::int64_t>(threads, g.m / 32);
  const std::int64_t unit = columns ? kernels.columns : kernels.rows;
  const std::int64_t all = columns ? g.n : g.m;
  const std::int64_t part = round_up(ceil_div(all, threads), unit);
  parallel_for(ceil_div(all, part), [&](std::int64_t i) {
    const std::int64_t first = i * part, count = std::min(part, all - first);
    gemm_problem mine = g;
    if (columns) {
      mine.b.data = g.b.at(0, first);
      mine.c += first;
      mine.n = count;
      mine.first_column = g.first_column + first;
    } else {
      mine.a.data = g.a.at(first, 0);
      mine.c += first * g.ldc;
      mine.m = count;
      mine.first_row = g.first_row + first;
    }
    gemm_one(mine, kernels, 1);
  });
}

inline void gemm_one(const gemm_problem& g, const gemm_kernels& kernels, int threads) noexcept {
  if (g.m <= 0 || g.n <= 0) return;
  if (g.k <= 0) {
    if (g.mode == gemm_mode::assign)
      for (std::int64_t i = 0; i < g.m; ++i) std::fill_n(g.c + i * g.ldc, g.n, 0.0f);
    finish(g, 0, 0, g.m, g.n);
    return;
  }
  const std::int64_t work = g.m * g.n * g.k;
  if (work < 200'000) threads = 1;  // a second thread would cost more than it brings
  const bool few = kernels.direct && !g.a.bfloat16 && !g.b.bfloat16 && g.m <= 2 * kernels.rows && g.m <= 16 &&
                   (g.b.column_stride == 1 || g.n == 1);
  if (threads > 1 && !few && work < 8'000'000 * std::int64_t{threads}) {
    gemm_apart(g, kernels, threads);
    return;
  }
  if (few) {
    gemm_few_rows(g, kernels, threads);
  } else {
    gemm_blocked(g, kernels, threads);
  }
}
}  // namespace detail

/// C = A B, or C += A B, with A [m, k], B [k, n] of any strides and C [m, n] with rows ldc apart.
///
/// Each element is a sum in the order of k, cut into blocks that depend on k alone: the bits are the same for any
/// number of threads, any m and n, and on every machine with fused multiply-add. k = 0 gives zero.
/// With gemm_precision::bfloat16 the operands are rounded to bfloat16 while they are packed, and the bits are those of
/// machines with the same bfloat16_unit.
///
/// shapes  a [m, k], b [k, n], c [m, n]; c may not overlap a or b
/// dtypes  a, b f32 or bf16; c f32
/// errors  none; strides are not checked
inline void gemm(std::int64_t m, std::int64_t n, std::int64_t k, matrix_view a, matrix_view b, float* c,
                 std::int64_t ldc, gemm_mode mode = gemm_mode::assign, gemm_epilogue epilogue = {},
                 gemm_precision precision = gemm_precision::f32) noexcept {
  detail::gemm_one({m, n, k, a, b, c, ldc, mode, epilogue}, gemm_kernels_for(best_gemm_machine(), precision),
                   num_threads());
}

/// `batch` products whose operands lie `..._batch_stride` elements apart (0 shares an operand).
///
/// The epilogue gets i * m + row as the row of product i. Small products are spread over the threads, large ones are
/// computed one after the other by all of them; the bits do not depend on which.
inline void gemm_batched(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, matrix_view a,
                         std::int64_t a_batch_stride, matrix_view b, std::int64_t b_batch_stride, float* c,
                         std::int64_t ldc, std::int64_t c_batch_stride, gemm_mode mode = gemm_mode::assign,
                         gemm_epilogue epilogue = {}, gemm_precision precision = gemm_precision::f32) noexcept {
  const gemm_kernels& kernels = gemm_kernels_for(best_gemm_machine(), precision);
  const int threads = num_threads();
  const auto product = [&](std::int64_t i, int width_of_team) {
    detail::gemm_one({m,
                      n,
                      k,
                      {a.at(0, 0) + i * a_batch_stride * a.element_bytes(), a.row_stride, a.column_stride, a.bfloat16},
                      {b.at(0, 0) + i * b_batch_stride * b.element_bytes(), b.row_stride, b.column_stride, b.bfloat16},
                      c + i * c_batch_stride,
                      ldc,
                      mode,
                      epilogue,
                      i * m},
                     kernels, width_of_team);
  };
  const bool spread = threads > 1 && (batch >= 4 * threads || (batch > 1 && m * n * k < 4'000'000));
  if (spread) {
    parallel_for_dynamic(batch, [&](std::int64_t i) { product(i, 1); });
  } else {
    for (std::int64_t i = 0; i < batch; ++i) product(i, threads);
  }
}

}  // namespace tokamax::simd
