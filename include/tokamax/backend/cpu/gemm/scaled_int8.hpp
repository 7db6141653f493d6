// tokamax/backend/cpu/gemm/scaled_int8.hpp: products of int8 whose sums become floats while they are in the cache.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/quantized/dot_general.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/dispatch.hpp>     // int8_microkernels
#include <tokamax/backend/cpu/gemm/one_product.hpp>  // gemm_one
#include <tokamax/backend/cpu/vector/simd.hpp>       // f32v, i32v
#include <tokamax/backend/cpu/vector/threads.hpp>    // num_threads, scratch

#include <algorithm>  // min
#include <cstdint>    // int64_t

namespace tokamax::cpu_backend {

/// C = sum over tiles t of row_scale[i, t] * column_scale[t, j] * (A_t B_t), where the columns of A and the rows of B are cut
/// into `tiles` equal parts.
struct scaled_int8_product {
  std::int64_t m, n, k, tiles;
  matrix_view a, b;            // int8 [m, k] and [k, n]
  const float* row_scale;      // [m, tiles]
  std::int64_t row, row_tile;  // distances
  const float* column_scale;   // [tiles, n]
  std::int64_t column_tile, column;
  float* c;  // [m, n]
};

namespace detail {

struct scaled_int8_columns;
struct scaled_int8_sums;

/// What the epilogue of a tile knows. Element (i, j) of the product is c[i * n + j].
struct scaled_int8_tile {
  const scaled_int8_product& of;
  std::int64_t tile, first_row;
  const float* columns;  // the scales of the tile's columns, side by side
};

inline void scale_int8_sums(const void* context, float* sums, std::int64_t ldc, std::int64_t row, std::int64_t col,
                            std::int64_t rows, std::int64_t cols) noexcept {
  const auto& t = *static_cast<const scaled_int8_tile*>(context);
  const float* const columns = t.columns + col;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t at = t.first_row + row + i;
    const float scale = t.of.row_scale[at * t.of.row + t.tile * t.of.row_tile];
    const float* const from = sums + i * ldc;
    float* const to = t.of.c + at * t.of.n + col;
    const auto scaled = [&](f32v integers, f32v by) {
      return xsimd::to_float(bitcast<i32v>(integers)) * f32v(scale) * by;
    };
    std::int64_t j = 0;
    if (t.tile == 0) {
      for (; j + width <= cols; j += width) store(to + j, scaled(load(from + j), load(columns + j)));
      if (j < cols)
        store_partial(to + j, scaled(load_partial(from + j, cols - j), load_partial(columns + j, cols - j)), cols - j);
    } else {
      for (; j + width <= cols; j += width) store(to + j, load(to + j) + scaled(load(from + j), load(columns + j)));
      if (j < cols)
        store_partial(to + j,
                      load_partial(to + j, cols - j) +
                          scaled(load_partial(from + j, cols - j), load_partial(columns + j, cols - j)),
                      cols - j);
    }
  }
}

}  // namespace detail

/// Computes the product. The first tile is summed in C itself; later ones in memory of some rows, which stays in the caches
/// until the epilogue has added it to C. The bits do not depend on the number of threads.
inline void scaled_int8_gemm(const scaled_int8_product& p) {
  using namespace detail;
  if (p.m <= 0 || p.n <= 0) return;
  const std::int64_t tile = p.k / p.tiles, together = p.tiles == 1 ? p.m : 256;  // rows
  float* const columns = scratch<scaled_int8_columns>(p.tiles * p.n);
  for (std::int64_t t = 0; t < p.tiles; ++t)
    for (std::int64_t j = 0; j < p.n; ++j) columns[t * p.n + j] = p.column_scale[t * p.column_tile + j * p.column];
  float* const apart = p.tiles == 1 ? nullptr : scratch<scaled_int8_sums>(std::min(together, p.m) * p.n);
  for (std::int64_t first = 0; first < p.m; first += together)
    for (std::int64_t t = 0; t < p.tiles; ++t) {
      const scaled_int8_tile context{p, t, first, columns + t * p.n};
      const matrix_view a{p.a.at(first, t * tile), p.a.row_stride, p.a.column_stride, gemm_element::int8},
          b{p.b.at(t * tile, 0), p.b.row_stride, p.b.column_stride, gemm_element::int8};
      gemm_one({std::min(together, p.m - first),
                p.n,
                tile,
                a,
                b,
                t == 0 ? p.c + first * p.n : apart,
                p.n,
                gemm_mode::assign,
                {scale_int8_sums, &context}},
               int8_microkernels(), num_threads());
    }
}

}  // namespace tokamax::cpu_backend
