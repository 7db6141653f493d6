// tokamax/backend/cpu/gemm/typed_row.hpp: one row times a matrix of f64 or of integers, read where it lies.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/typed.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/typed_tile.hpp>  // typed_tile

#include <algorithm>  // min, fill_n
#include <cstdint>    // int64_t

namespace tokamax::cpu_backend::detail {

inline constexpr std::int64_t typed_row_columns = 512;  // whose sums stay in the first-level cache

/// c[j] = the sum over p of a[p * a_step] b[p * b_step + j], for j < columns <= typed_row_columns. The bits are those of
/// tiles.
template <class T>
void typed_row(const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, std::int64_t k, T* c,
               std::int64_t columns) noexcept {
  using tile = typed_tile<T>;
  T sums[typed_row_columns];
  // Adds the terms [p, p + Terms) to the sums.
  const auto add = [&]<int Terms>(std::int64_t p) {
    typename tile::vector term[Terms];
    for (int u = 0; u < Terms; ++u) term[u] = tile::all(a[(p + u) * a_step]);
    const T* const from = b + p * b_step;
    std::int64_t j = 0;
    for (; j + tile::lanes <= columns; j += tile::lanes) {
      auto sum = tile::load(sums + j);
#pragma GCC unroll 4
      for (int u = 0; u < Terms; ++u) sum = tile::add(sum, term[u], tile::load(from + u * b_step + j));
      tile::store(sums + j, sum);
    }
    if (j == columns) return;
    auto sum = tile::load(sums + j, columns - j);
    for (int u = 0; u < Terms; ++u) sum = tile::add(sum, term[u], tile::load(from + u * b_step + j, columns - j));
    tile::store(sums + j, sum, columns - j);
  };
  for (std::int64_t first = 0; first < k; first += tile::k_block) {
    const std::int64_t end = std::min(k, first + tile::k_block);
    std::fill_n(sums, columns, T{});
    std::int64_t p = first;
    for (; p + 4 <= end; p += 4) add.template operator()<4>(p);
    for (; p < end; ++p) add.template operator()<1>(p);
    for (std::int64_t j = 0; j < columns; ++j) c[j] = first > 0 ? static_cast<T>(c[j] + sums[j]) : sums[j];
  }
}

/// c[j] = the sum over p of a[p] b[j * b_column + p], for j < columns; `accumulate` adds it to the old c. The lanes of a
/// register are summed last, so the bits are others than those of tiles.
template <class T>
void typed_dots(const T* a, const T* b, std::int64_t b_column, std::int64_t k, T* c, std::int64_t columns,
                bool accumulate) noexcept {
  using tile = typed_tile<T>;
  // The sums of so many columns from j on, which hide the latency of each other.
  const auto dots = [&]<int Columns>(std::int64_t j) {
    const T* const from = b + j * b_column;
    typename tile::vector sum[Columns][2] = {};
    std::int64_t p = 0;
    for (; p + 2 * tile::lanes <= k; p += 2 * tile::lanes) {
      const auto low = tile::load(a + p), high = tile::load(a + p + tile::lanes);
#pragma GCC unroll 4
      for (int i = 0; i < Columns; ++i) {
        sum[i][0] = tile::add(sum[i][0], low, tile::load(from + i * b_column + p));
        sum[i][1] = tile::add(sum[i][1], high, tile::load(from + i * b_column + p + tile::lanes));
      }
    }
    for (; p < k; p += tile::lanes) {
      const std::int64_t n = std::min(tile::lanes, k - p);
      const auto term = tile::load(a + p, n);
      for (int i = 0; i < Columns; ++i) sum[i][0] = tile::add(sum[i][0], term, tile::load(from + i * b_column + p, n));
    }
    for (int i = 0; i < Columns; ++i) {
      const T all = fold<T, static_cast<std::size_t>(tile::lanes)>(
          sum[i][0] + sum[i][1], [](auto x, auto y) { return static_cast<decltype(x)>(x + y); });
      c[j + i] = accumulate ? static_cast<T>(c[j + i] + all) : all;
    }
  };
  std::int64_t j = 0;
  for (; j + 4 <= columns; j += 4) dots.template operator()<4>(j);
  for (; j < columns; ++j) dots.template operator()<1>(j);
}

}  // namespace tokamax::cpu_backend::detail
