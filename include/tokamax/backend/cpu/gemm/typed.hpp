// tokamax/backend/cpu/gemm/typed.hpp: matrix products of f64 and of integers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/gemm/problem.hpp>     // ceil_div, round_up
#include <tokamax/backend/cpu/gemm/typed_row.hpp>   // typed_row, typed_dots
#include <tokamax/backend/cpu/gemm/typed_tile.hpp>  // typed_matrices, typed_sums, typed_pack
#include <tokamax/backend/cpu/vector/threads.hpp>   // parallel_for, scratch

#include <algorithm>  // min, max, fill_n
#include <cstdint>    // int64_t
#include <utility>    // swap

namespace tokamax::cpu_backend {

/// C = A B for each of `batches` pairs of matrices.
template <class T>
struct typed_problem {
  std::int64_t batches, m, n, k;
  typed_matrices<T> a, b;
  T* c;  ///< [batches, m, n], dense
};

namespace detail {

struct typed_packed_b;  // the panels of B on which a thread works

/// A problem cut into tasks, which threads share: so many rows and columns of one pair of matrices.
template <class T>
class typed_tasks {
 public:
  explicit typed_tasks(const typed_problem<T>& g) noexcept : g_(g) {}

  void run() {
    const bool small = g_.batches * g_.m * g_.n * g_.k < 200'000;  // a second thread would cost more than it saves
    const std::int64_t threads = small ? 1 : num_threads();
    const bool row = is_row();
    const std::int64_t unit = row ? tile::lanes : tile::columns;
    const std::int64_t most = row ? std::min(typed_row_columns, ceil_div(g_.n, threads)) : tile::most_columns;
    columns_ = round_up(ceil_div(g_.n, ceil_div(g_.n, most)), unit);
    across_ = ceil_div(g_.n, columns_);
    // B is packed once for all rows of a task, so these are many, unless threads would have nothing to do.
    const std::int64_t parts = threads == 1 ? 1 : ceil_div(4 * threads, g_.batches * across_);
    rows_ = std::max(round_up(ceil_div(g_.m, parts), tile::rows), std::min(g_.m, fewest_rows));
    down_ = ceil_div(g_.m, rows_);
    const auto task = [this, row](std::int64_t i) { row ? multiply_row(i) : multiply_rows(i); };
    const std::int64_t tasks = g_.batches * across_ * down_;
    if (threads > 1) return parallel_for(tasks, task);
    for (std::int64_t i = 0; i < tasks; ++i) task(i);
  }

 private:
  using tile = typed_tile<T>;
  static constexpr std::int64_t fewest_rows = 48;  // for which packing B pays

  /// May one row be multiplied by B where it lies?
  bool is_row() const noexcept {
    return g_.m == 1 && (g_.b.column_stride == 1 || (g_.b.row_stride == 1 && g_.a.column_stride == 1));
  }

  void multiply_row(std::int64_t i) const noexcept {
    const std::int64_t s = i / across_, j = i % across_ * columns_, columns = std::min(columns_, g_.n - j);
    T* const to = g_.c + s * g_.n + j;
    if (g_.b.column_stride == 1)
      return typed_row(g_.a.at(s, 0, 0), g_.a.column_stride, g_.b.at(s, 0, j), g_.b.row_stride, g_.k, to, columns);
    constexpr std::int64_t terms = 8 * tile::k_block;  // that are summed in lanes, as many as tiles sum in one
    for (std::int64_t p = 0; p < g_.k; p += terms)
      typed_dots(g_.a.at(s, 0, p), g_.b.at(s, p, j), g_.b.column_stride, std::min(terms, g_.k - p), to, columns, p > 0);
  }

  void multiply_rows(std::int64_t i) const {
    const std::int64_t j0 = i % across_ * columns_, j1 = std::min(g_.n, j0 + columns_), part = i / across_;
    const std::int64_t i0 = part % down_ * rows_, i1 = std::min(g_.m, i0 + rows_), s = part / down_;
    T* const panels = scratch<typed_packed_b, T>(tile::k_block * tile::most_columns);
    for (std::int64_t p = 0; p < g_.k; p += tile::k_block) {
      const std::int64_t steps = std::min(tile::k_block, g_.k - p);
      for (std::int64_t j = j0; j < j1; j += tile::columns)
        typed_pack<tile::columns>(panels + (j - j0) * steps, g_.b.at(s, p, j), std::min(tile::columns, j1 - j),
                                  g_.b.column_stride, steps, g_.b.row_stride);
      for (std::int64_t row = i0; row < i1; row += tile::rows)
        multiply_panels(s, p, steps, row, std::min(tile::rows, i1 - row), j0, j1, panels);
    }
  }

  /// Some rows of A times the panels of columns [j0, j1), over `steps` terms from p on.
  void multiply_panels(std::int64_t s, std::int64_t p, std::int64_t steps, std::int64_t row, std::int64_t rows,
                       std::int64_t j0, std::int64_t j1, const T* panels) const noexcept {
    alignas(64) T packed[tile::rows * tile::k_block];
    typed_pack<tile::rows>(packed, g_.a.at(s, row, p), rows, g_.a.row_stride, steps, g_.a.column_stride);
    for (std::int64_t j = j0; j < j1; j += tile::columns) {
      T* const to = g_.c + (s * g_.m + row) * g_.n + j;
      const T* const panel = panels + (j - j0) * steps;
      if (rows == tile::rows && j + tile::columns <= j1)
        typed_sums(packed, panel, steps, to, g_.n, p > 0);
      else
        typed_sums_at_edge(packed, panel, steps, to, g_.n, p > 0, rows, std::min(tile::columns, j1 - j));
    }
  }

  const typed_problem<T> g_;
  std::int64_t columns_ = 0, rows_ = 0;  // of a task
  std::int64_t across_ = 0, down_ = 0;   // tasks for the columns and for the rows of a C
};

}  // namespace detail

/// Products of doubles, or of unsigned integers modulo 2^bits, which are those of signed ones too.
///
/// Each element is a sum in the order of k, cut into blocks that depend on the type only. One row times a matrix whose
/// columns are contiguous is summed in lanes instead. So the bits depend on shapes and strides, and not on the number of
/// threads.
///
/// shapes  a [batches, m, k], b [batches, k, n] of any strides; c [batches, m, n], dense, overlaps neither
/// dtypes  double, std::uint16_t, std::uint32_t, std::uint64_t
template <class T>
void typed_gemm(typed_problem<T> g) {
  const std::int64_t size = g.batches * g.m * g.n;
  if (size == 0 || g.k == 0) return void(std::fill_n(g.c, size, T{}));
  if (g.n == 1 && g.m > 1) {  // a column is a row of the transposed product
    std::swap(g.m, g.n);
    std::swap(g.a, g.b);
    std::swap(g.a.row_stride, g.a.column_stride);
    std::swap(g.b.row_stride, g.b.column_stride);
  }
  detail::typed_tasks<T>(g).run();
}

}  // namespace tokamax::cpu_backend
