// tokamax/backend/cpu/gemm/one_product.hpp: computes one product in the way that suits its shape.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/problem.hpp>  // gemm_problem
#include <tokamax/base/compiled_once.hpp>        // TOKAMAX_COMPILES

#if TOKAMAX_COMPILES(PRODUCTS)
  #include <tokamax/backend/cpu/gemm/blocked.hpp>    // gemm_blocked
  #include <tokamax/backend/cpu/gemm/few_rows.hpp>   // gemm_few_rows
  #include <tokamax/backend/cpu/gemm/outer.hpp>      // gemm_outer
  #include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for

  #include <algorithm>  // min, max
  #include <cstring>    // memset
#endif

namespace tokamax::cpu_backend::detail {

/// C = A B, or C += A B, by the given tiles, on at most this many threads.
void gemm_one(const gemm_problem& g, const microkernel_set& kernels, int threads);

#if TOKAMAX_COMPILES(PRODUCTS)
// A small product. Each thread computes its own part of C from its own packed copies, without waiting for others. The longer
// side is cut, so that as little as possible is packed twice. If B is packed already, the rows are cut.
inline void gemm_per_thread(const gemm_problem& g, const microkernel_set& kernels, int threads) {
  const bool ready = g.packed.data != nullptr && g.m >= 4 * kernels.rows * threads;
  const bool columns = !ready && ceil_div(g.n, kernels.columns) >= std::max<std::int64_t>(threads, g.m / 32);
  const std::int64_t unit = columns ? kernels.columns : kernels.rows;
  const std::int64_t all = columns ? g.n : g.m;
  const std::int64_t part = round_up(ceil_div(all, threads), unit);
  const auto product = [&](std::int64_t i) {
    const std::int64_t first = i * part, count = std::min(part, all - first);
    gemm_problem mine = g;
    if (columns) {
      mine.b.data = g.b.at(0, first);
      mine.packed.first += first / kernels.columns;
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
  };
  parallel_for(ceil_div(all, part), product, threads);
}

/// C^T = B^T A^T, for a C of one column, which is dense then.
inline gemm_problem column_as_row(const gemm_problem& g) noexcept {
  const auto transposed = [](const matrix_view& v) {
    return matrix_view{v.data, v.column_stride, v.row_stride, v.element};
  };
  return {1, g.m, g.k, transposed(g.b), transposed(g.a), g.c, g.m, g.mode, {}};
}
/// Is C a dense column whose product may be computed as a row? Then A is read once, where it lies.
inline bool is_dense_column(const gemm_problem& g, const microkernel_set& kernels) noexcept {
  return g.n == 1 && g.m > 1 && g.ldc == 1 && kernels.unit == 1 && g.packed.data == nullptr &&
         g.source.fill == nullptr && g.epilogue.apply == nullptr;
}

TOKAMAX_BODY void gemm_one(const gemm_problem& g, const microkernel_set& kernels, int threads) {
  if (g.m <= 0 || g.n <= 0) return;
  if (g.k <= 0) {
    if (g.mode == gemm_mode::assign)
      for (std::int64_t i = 0; i < g.m; ++i) std::memset(g.c + i * g.ldc, 0, static_cast<std::size_t>(g.n) * 4);
    finish(g, 0, 0, g.m, g.n);
    return;
  }
  if (is_dense_column(g, kernels)) return gemm_one(column_as_row(g), kernels, threads);
  const std::int64_t work = g.m * g.n * g.k;
  if (work < 200'000) threads = 1;  // a second thread would cost more than it saves
  if (is_outer(g, kernels)) return gemm_outer(g, threads);
  const bool few = has_few_rows(g, kernels);
  if (threads > 1 && !few && work < 9'000'000 * std::int64_t{threads}) {
    gemm_per_thread(g, kernels, threads);
  } else if (few) {
    gemm_few_rows(g, kernels, threads);
  } else {
    gemm_blocked(g, kernels, threads);
  }
}
#endif

}  // namespace tokamax::cpu_backend::detail
