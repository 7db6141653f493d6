// tokamax/backend/cpu/gemm_avx2.hpp: register tiles of products for AVX2 with fused multiply-add.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (kernels include it, and are compiled once)
// tested by tests/backend/cpu/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm_kernels.hpp>  // gemm_kernels
#include <tokamax/backend/cpu/prefetch.hpp>      // prefetch_to_write

#if defined(__x86_64__)
namespace tokamax::simd::detail {

template <int Rows, int Vectors>
[[gnu::target("avx2,fma")]] void tile_avx2(std::int64_t k, const float* a, std::int64_t a_row, std::int64_t a_step,
                                           const float* b, std::int64_t b_step, float* c, std::int64_t ldc,
                                           std::int64_t columns, tile_mode mode) noexcept {
  __m256 sum[Rows][Vectors];
  #pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
    for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_setzero_ps();
    prefetch_to_write(c + r * ldc);
  }
  if (columns == 8 * Vectors) {
    if (mode == tile_mode::resume) {
  #pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
        for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_loadu_ps(c + r * ldc + 8 * v);
      }
    }
    for (std::int64_t p = 0; p < k; ++p) {
      __m256 column[Vectors];
  #pragma GCC unroll 12
      for (int v = 0; v < Vectors; ++v) column[v] = _mm256_loadu_ps(b + 8 * v);
  #pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const __m256 row = _mm256_broadcast_ss(a + r * a_row);
  #pragma GCC unroll 12
        for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_fmadd_ps(row, column[v], sum[r][v]);
      }
      a += a_step;
      b += b_step;
    }
  #pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
      for (int v = 0; v < Vectors; ++v) {
        float* const to = c + r * ldc + 8 * v;
        if (mode == tile_mode::add) sum[r][v] = _mm256_add_ps(_mm256_loadu_ps(to), sum[r][v]);
        _mm256_storeu_ps(to, sum[r][v]);
      }
    }
    return;
  }
  __m256i kept[Vectors];
  for (int v = 0; v < Vectors; ++v) {
    kept[v] = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(columns) - 8 * v),
                                 _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  if (mode == tile_mode::resume) {
  #pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
      for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_maskload_ps(c + r * ldc + 8 * v, kept[v]);
    }
  }
  for (std::int64_t p = 0; p < k; ++p) {
  #pragma GCC unroll 12
    for (int v = 0; v < Vectors; ++v) {
      const __m256 column = _mm256_maskload_ps(b + 8 * v, kept[v]);
  #pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) sum[r][v] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + r * a_row), column, sum[r][v]);
    }
    a += a_step;
    b += b_step;
  }
  alignas(32) float lanes[8 * Vectors];
  #pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
    for (int v = 0; v < Vectors; ++v) _mm256_store_ps(lanes + 8 * v, sum[r][v]);
    float* const to = c + r * ldc;
    for (std::int64_t j = 0; j < columns; ++j) to[j] = mode == tile_mode::add ? to[j] + lanes[j] : lanes[j];
  }
}

inline constexpr gemm_kernels gemm_avx2 = {
    .terms = 1,
    .a_in_place = true,
    .b_in_place = true,
    .rows = 6,
    .columns = 16,
    .tile = {nullptr, tile_avx2<1, 2>, tile_avx2<2, 2>, tile_avx2<3, 2>, tile_avx2<4, 2>, tile_avx2<5, 2>,
             tile_avx2<6, 2>},
    .wide = {nullptr, tile_avx2<1, 8>, tile_avx2<2, 4>, tile_avx2<3, 3>, tile_avx2<4, 2>, tile_avx2<5, 2>,
             tile_avx2<6, 2>},
    .wide_columns = {0, 64, 32, 24, 16, 16, 16},
    .pack = pack_panel_avx2,
    .pack_bfloat16 = pack_bfloat16_widened,
};

}  // namespace tokamax::simd::detail
#endif
