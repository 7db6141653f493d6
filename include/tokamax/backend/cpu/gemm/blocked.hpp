// tokamax/backend/cpu/gemm/blocked.hpp: products of many rows, in blocks that stay in the caches.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/problem.hpp>    // gemm_problem, pack_b
#include <tokamax/backend/cpu/vector/simd.hpp>     // finish_streams
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch

#include <algorithm>  // min, max
#include <cstdint>    // int64_t, uintptr_t

namespace tokamax::cpu_backend::detail {

// The sizes of tasks, into which the columns (in panels) and rows of C are cut.
struct gemm_split {
  std::int64_t panels;  // panels of B in a task
  std::int64_t rows;    // panels of A in a task
};

// The cost of a split, in rows of tiles: of the tiles of a thread, of packing its B, and of reading data from the caches of
// other threads, at some 16 GB/s. The last cost arises if threads do not keep to rows of their own: now for A, and later for
// C, because loops give each thread a range of rows. The order along k is the same for every split, so the number of threads
// may decide.
inline gemm_split split_tasks(std::int64_t b_panels, std::int64_t a_panels, std::int64_t k,
                              const microkernel_set& kernels, int threads) noexcept {
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

/// A product in blocks: super blocks of A (k_super x m_super) stay in the last-level cache while B streams by. The rows
/// of a super block and the columns of B are cut into tasks, which threads share.
class blocked_product {
 public:
  blocked_product(const gemm_problem& g, const microkernel_set& kernels, int threads) noexcept
      : g_(g),
        kernels_(kernels),
        threads_(threads),
        block_(gemm_k_block(g.k, kernels)),
        b_panels_(ceil_div(g.n, nr_)),
        first_(streams(g, block_) ? tile_mode::stream : tile_mode::assign),
        in_place_(reads_a_in_place(g, kernels)) {}

  void run() {
    constexpr std::int64_t budget = std::int64_t{1} << 21;  // 8 MB
    const std::int64_t k_super = g_.k <= 4096 ? g_.k : std::max<std::int64_t>(1, 4096 / block_) * block_;
    const std::int64_t m_parts = ceil_div(g_.m, std::max(mr_ * 8, budget / k_super));
    const std::int64_t m_super = round_up(ceil_div(g_.m, m_parts), mr_);
    if (!in_place_)
      packed_a_ = scratch<gemm_packed_a>(m_super * round_up(k_super, block_) / kernels_.terms * kernels_.a_words);
    mine_size_ = std::min<std::int64_t>(b_panels_, 6) * nr_ * panel_steps_of(kernels_, block_);
    if (g_.packed.data == nullptr) packed_b_ = scratch<gemm_packed_b>(threads_ * mine_size_);
    for (k0_ = 0; k0_ < g_.k; k0_ = k1_) {
      k1_ = std::min(g_.k, k0_ + k_super);
      for (m0_ = 0; m0_ < g_.m; m0_ = m1_) {
        m1_ = std::min(g_.m, m0_ + m_super);
        run_super_block();
      }
    }
  }

 private:
  void run_super_block() {
    a_panels_ = ceil_div(m1_ - m0_, mr_);
    // Rows that lie side by side are packed some panels at a time, so that whole cache lines are read.
    group_ = g_.a.row_stride == 1 ? std::min(64 / g_.a.element_bytes(), ceil_div(a_panels_, threads_)) : 1;
    split_ = split_tasks(b_panels_, a_panels_, k1_ - k0_, kernels_, threads_);
    const std::int64_t groups = in_place_ ? 0 : ceil_div(a_panels_, group_);
    const std::int64_t tasks = ceil_div(b_panels_, split_.panels) * ceil_div(a_panels_, split_.rows);
    if (threads_ == 1) {
      for (std::int64_t i = 0; i < groups; ++i) pack_a(i);
      for (std::int64_t t = 0; t < tasks; ++t) run_task(t);
    } else {
      if (groups > 0) parallel_for(groups, [this](std::int64_t i) { pack_a(i); }, threads_);
      parallel_for(tasks, [this](std::int64_t t) { run_task(t); }, threads_);
    }
  }

  // Packs a group of panels of A: [k block][panel][k][mr].
  void pack_a(std::int64_t i) const {
    const std::int64_t panel = i * group_, together = std::min(group_, a_panels_ - panel);
    for (std::int64_t p = k0_; p < k1_; p += block_) {
      const std::int64_t steps = std::min(block_, k1_ - p), panel_size = a_words_ * packed_steps_of(kernels_, steps);
      pack_panels(kernels_, packed_a_ + (p - k0_) / kernels_.terms * a_panels_ * a_words_ + panel * panel_size,
                  panel_size, together, g_.a, true, m1_, m0_ + panel * mr_, p, steps);
    }
  }

  // Panel i of A, from term p on.
  tile_rows rows_of(std::int64_t i, std::int64_t p, std::int64_t packed_steps) const {
    if (in_place_) return rows_in_place(g_, kernels_, m0_ + i * mr_, p);
    const std::int64_t at = (p - k0_) / kernels_.terms * a_panels_ + i * packed_steps;
    return rows_of_panel(kernels_, packed_a_ + at * a_words_, mr_);
  }

  void run_task(std::int64_t task) const {
    const std::int64_t across = ceil_div(b_panels_, split_.panels);
    const std::int64_t panel0 = (task % across) * split_.panels, panel1 = std::min(b_panels_, panel0 + split_.panels);
    const std::int64_t row0 = (task / across) * split_.rows, row1 = std::min(a_panels_, row0 + split_.rows);
    const bool ready = g_.packed.data != nullptr;
    float* const mine = ready ? nullptr : packed_b_ + (threads_ > 1 ? thread_index() : 0) * mine_size_;
    for (std::int64_t p = k0_; p < k1_; p += block_) {
      const std::int64_t steps = std::min(block_, k1_ - p);
      if (!ready) pack_b(g_, kernels_, mine, p, steps, panel0, panel1);
      const float* const b = ready ? g_.packed.at(kernels_, p, steps, panel0) : mine;
      const tile_scope tiles(kernels_, g_.m);
      constexpr std::int64_t height = 8;  // panels of A that stay in the second-level cache
      for (std::int64_t i = row0; i < row1; i += height)
        multiply(p, steps, i, std::min(row1, i + height), b, panel0, panel1);
    }
    if (first_ == tile_mode::stream) finish_streams();
  }

  // Panels [i0, i1) of A times panels [panel0, panel1) of B, which begin at b, over `steps` terms from p on.
  void multiply(std::int64_t p, std::int64_t steps, std::int64_t i0, std::int64_t i1, const float* b,
                std::int64_t panel0, std::int64_t panel1) const {
    const std::int64_t packed_steps = packed_steps_of(kernels_, steps),
                       panel_size = nr_ * panel_steps_of(kernels_, steps);
    const tile_mode mode = p > 0 || g_.mode == gemm_mode::accumulate ? tile_mode::add : first_;
    for (std::int64_t j = panel0; j < panel1; ++j) {
      const std::int64_t cols = std::min(nr_, g_.n - j * nr_);
      for (std::int64_t i = i0; i < i1; ++i) {
        const std::int64_t row = m0_ + i * mr_;
        const tile_rows a = rows_of(i, p, packed_steps);
        kernels_.tile[std::min(mr_, m1_ - row)]({.k = packed_steps,
                                                 .a = a.data,
                                                 .a_row = a.row,
                                                 .a_step = a.step,
                                                 .b = b + (j - panel0) * panel_size,
                                                 .b_step = nr_,
                                                 .c = g_.c + row * g_.ldc + j * nr_,
                                                 .ldc = g_.ldc,
                                                 .columns = cols,
                                                 .mode = mode});
      }
      if (p + steps == g_.k) finish(g_, m0_ + i0 * mr_, j * nr_, std::min(m1_, m0_ + i1 * mr_) - m0_ - i0 * mr_, cols);
    }
  }

  const gemm_problem& g_;
  const microkernel_set& kernels_;
  const int threads_;
  const std::int64_t mr_ = kernels_.rows, nr_ = kernels_.columns, a_words_ = mr_ * kernels_.a_words;
  const std::int64_t block_, b_panels_;
  const tile_mode first_;  // of the first block of k, where C is assigned
  const bool in_place_;
  float *packed_a_ = nullptr, *packed_b_ = nullptr;
  std::int64_t mine_size_ = 0;                      // of a thread's panels of B
  std::int64_t k0_ = 0, k1_ = 0, m0_ = 0, m1_ = 0;  // the super block
  std::int64_t a_panels_ = 0, group_ = 1;
  gemm_split split_{};
};

inline void gemm_blocked(const gemm_problem& g, const microkernel_set& kernels, int threads) {
  blocked_product(g, kernels, threads).run();
}

}  // namespace tokamax::cpu_backend::detail
