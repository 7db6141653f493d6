// tokamax/backend/cpu/gemm/few_rows.hpp: products of few rows, which read B once at the speed of memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/problem.hpp>    // gemm_problem, pack_lanes
#include <tokamax/backend/cpu/vector/simd.hpp>     // load, store
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch

#include <algorithm>  // min, max
#include <cstdint>    // int64_t

namespace tokamax::cpu_backend::detail {

/// Is C so low that blocks of A need not wait in the caches?
inline bool has_few_rows(const gemm_problem& g, const microkernel_set& kernels) noexcept {
  return kernels.unit == 1 && g.m <= 2 * kernels.rows && g.m <= 16;
}

/// How the tiles get at B.
enum class b_source {
  panels,      ///< packed before
  memory,      ///< as it is: its rows are contiguous
  transposed,  ///< as it is: its columns are contiguous
  rows,        ///< rows, through panels that stay in the first level cache
  columns      ///< columns, the same
};

inline b_source source_of_b(const gemm_problem& g, const microkernel_set& kernels) noexcept {
  if (g.packed.data != nullptr) return b_source::panels;
  if (g.source.fill != nullptr) return b_source::rows;
  const bool columns = g.b.column_stride != 1 && g.n != 1;
  const bool as_it_is = kernels.b_in_place && g.b.element_bytes() * kernels.terms == 4;
  if (!columns) return as_it_is && g.k % kernels.terms == 0 ? b_source::memory : b_source::rows;
  const bool transposed =
      as_it_is && g.b.row_stride == 1 && g.m <= transposed_b_rows && kernels.transposed_b[g.m] != nullptr;
  return transposed ? b_source::transposed : b_source::columns;
}

/// A stripe of columns of C is summed `burst` terms at a time. Rows of B are read in long runs, while the sums stay in
/// the first level cache; more rows of A hide more of the memory's latency and want fewer loads and stores of the sums.
/// One row of A and a B past the caches wait for memory alone: few runs, as long as can be.
struct few_rows_plan {
  b_source source;
  std::int64_t tile, stripe, burst;  ///< columns of a tile, columns of a stripe, terms

  few_rows_plan(const gemm_problem& g, const microkernel_set& kernels, std::int64_t height, std::int64_t block,
                int threads) noexcept
      : source(source_of_b(g, kernels)) {
    tile = source == b_source::memory       ? kernels.wide_columns[height]
           : source == b_source::transposed ? transposed_b_columns
                                            : kernels.columns;
    const bool short_bursts = (source == b_source::memory || source == b_source::rows) && g.m <= 6;
    const bool far = source == b_source::memory && g.m == 1 && g.k * g.n >= std::int64_t{1} << 22;  // 16 MB
    const bool near = source == b_source::memory && g.m == 1 && !far;
    burst = short_bursts ? kernels.terms * (far ? 4 : near ? 32 : g.m <= 2 ? 8 : 16) : block;
    const std::int64_t longest = source == b_source::columns      ? tile
                                 : source == b_source::transposed ? 4 * tile
                                 : far                            ? g.n
                                 : !short_bursts                  ? 4 * tile
                                 : source == b_source::memory     ? std::max<std::int64_t>(512, 4096 / g.m)
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

/// A product of few rows: all rows of C, one stripe of columns after the other.
class few_rows_product {
 public:
  few_rows_product(const gemm_problem& g, const microkernel_set& kernels, int threads)
      : g_(g), kernels_(kernels), threads_(threads) {}

  void run() {
    place_a();
    const std::int64_t most = std::min(plan_.burst, block_);
    staged_size_ = plan_.stripe * panel_steps_of(kernels_, most);
    sums_ = scratch<gemm_packed_b>(threads_ * g_.m * plan_.stripe);
    if (plan_.source == b_source::rows || plan_.source == b_source::columns)
      staged_ = scratch<gemm_staged_b>(threads_ * staged_size_);
    const std::int64_t stripes = ceil_div(g_.n, plan_.stripe);
    if (threads_ == 1) {
      for (std::int64_t t = 0; t < stripes; ++t) compute_stripe(t);
    } else {
      parallel_for(stripes, [this](std::int64_t t) { compute_stripe(t); }, threads_);
    }
  }

 private:
  // Some terms of the columns of a stripe, as tiles read them.
  struct columns_of_b {
    const std::byte* data;
    std::int64_t step;    // from one packed step to the next
    std::int64_t column;  // bytes from one column to the next
  };
  // Where the sums of a stripe go.
  struct rows_of_c {
    float* data;
    std::int64_t stride;
  };

  // A where it lies, or packed.
  void place_a() {
    a_ = rows_in_place(g_, kernels_, 0, 0);
    a_panel_ = height_ * a_.row;
    if (reads_a_in_place(g_, kernels_)) return;
    a_panel_ = height_ * packed_steps_of(kernels_, g_.k) * kernels_.a_words;
    float* const packed = scratch<gemm_packed_a>(panels_ * a_panel_);
    a_ = rows_of_panel(kernels_, packed, height_);
    for (std::int64_t i = 0; i < panels_; ++i) {
      const std::int64_t row = i * height_;
      pack_lanes(kernels_, packed + i * a_panel_, height_, std::min(height_, g_.m - row), g_.k, g_.a, row, 0, true);
    }
  }

  void compute_stripe(std::int64_t t) const {
    const int thread = threads_ > 1 ? thread_index() : 0;
    const std::int64_t col = t * plan_.stripe, cols = std::min(plan_.stripe, g_.n - col);
    float* const mine = sums_ + thread * g_.m * plan_.stripe;
    for (std::int64_t p = 0; p < g_.k; p += block_) {
      const std::int64_t steps = std::min(block_, g_.k - p);
      const bool add = p > 0 || g_.mode == gemm_mode::accumulate;
      const bool apart = add && steps > plan_.burst;  // sums that C may not hold yet
      const rows_of_c c = apart ? rows_of_c{mine, plan_.stripe} : rows_of_c{g_.c + col, g_.ldc};
      for (std::int64_t q = 0; q < steps; q += plan_.burst) {
        const std::int64_t now = std::min(plan_.burst, steps - q);
        const tile_mode mode = q > 0 ? tile_mode::resume : add && !apart ? tile_mode::add : tile_mode::assign;
        multiply(p + q, now, columns_at(p, q, steps, col, cols, thread), c, cols, mode);
      }
      if (!apart) continue;
      for (std::int64_t i = 0; i < g_.m; ++i)
        add_sums(kernels_.integer, g_.c + i * g_.ldc + col, mine + i * plan_.stripe, cols);
    }
    finish(g_, 0, col, g_.m, cols);
  }

  // The terms from q on of the block of `steps` terms that begins at term p.
  columns_of_b columns_at(std::int64_t p, std::int64_t q, std::int64_t steps, std::int64_t col, std::int64_t cols,
                          int thread) const {
    const std::int64_t nr = kernels_.columns, now = std::min(plan_.burst, steps - q);
    const std::int64_t panel_column = 4 * panel_steps_of(kernels_, now);
    switch (plan_.source) {
      case b_source::memory:
        return {g_.b.at(p + q, col), g_.b.row_stride, g_.b.column_stride * g_.b.element_bytes()};
      case b_source::transposed:
        return {g_.b.at(p + q, col), g_.b.column_stride, g_.b.column_stride * g_.b.element_bytes()};
      case b_source::panels:
        return {reinterpret_cast<const std::byte*>(g_.packed.at(kernels_, p, steps, col / nr)), nr, panel_column};
      default:
        float* const mine = staged_ + thread * staged_size_;
        pack_b(g_, kernels_, mine, p + q, now, col / nr, ceil_div(col + cols, nr));
        return {reinterpret_cast<const std::byte*>(mine), nr, panel_column};
    }
  }

  // Rows of A times columns of B over `now` terms from p on.
  void multiply(std::int64_t p, std::int64_t now, const columns_of_b& b, const rows_of_c& c, std::int64_t cols,
                tile_mode mode) const {
    const std::int64_t nr = kernels_.columns;
    const bool transposed = plan_.source == b_source::transposed, wide = plan_.source == b_source::memory;
    for (std::int64_t i = 0; i < panels_; ++i) {
      const std::int64_t row = i * height_, rows = std::min(height_, g_.m - row);
      const bool two_panels = plan_.source == b_source::panels && rows <= 2 && kernels_.two_panel[rows] != nullptr;
      for (std::int64_t j = 0, step = 0; j < cols; j += step) {
        const bool both = two_panels && cols - j >= 2 * nr;
        step = transposed ? plan_.tile : wide ? kernels_.wide_columns[rows] : both ? 2 * nr : nr;
        const auto tile = transposed ? kernels_.transposed_b[rows]
                          : wide     ? kernels_.wide[rows]
                          : both     ? kernels_.two_panel[rows]
                                     : kernels_.tile[rows];
        tile({.k = transposed ? now : packed_steps_of(kernels_, now),
              .a = a_.data + i * a_panel_ + p / kernels_.terms * a_.step,
              .a_row = a_.row,
              .a_step = a_.step,
              .b = reinterpret_cast<const float*>(b.data + j * b.column),
              .b_step = b.step,
              .c = c.data + row * c.stride + j,
              .ldc = c.stride,
              .columns = std::min(step, cols - j),
              .mode = mode});
      }
    }
  }

  const gemm_problem& g_;
  const microkernel_set& kernels_;
  const int threads_;
  const std::int64_t block_ = gemm_k_block(g_.k, kernels_);
  const std::int64_t panels_ = ceil_div(g_.m, kernels_.rows);
  const std::int64_t height_ = ceil_div(g_.m, panels_);  // even heights, so that no panel is a thin rest
  const few_rows_plan plan_{g_, kernels_, height_, block_, threads_};
  tile_rows a_{};
  std::int64_t a_panel_ = 0;  // distance between panels
  std::int64_t staged_size_ = 0;
  float *sums_ = nullptr, *staged_ = nullptr;
};

inline void gemm_few_rows(const gemm_problem& g, const microkernel_set& kernels, int threads) {
  few_rows_product(g, kernels, threads).run();
}

}  // namespace tokamax::cpu_backend::detail
