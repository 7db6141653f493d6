// tokamax/backend/cpu/gemm_avx2.hpp: register tiles of products for AVX2 with fused multiply-add.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (kernels include it, and are compiled once)
// tested by tests/backend/cpu/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm_kernels.hpp>  // gemm_kernels
#include <tokamax/backend/cpu/prefetch.hpp>      // prefetch_to_write

#include <cstdint>  // int64_t
#include <cstring>  // memcpy

#if defined(__x86_64__)
namespace tokamax::simd::detail {

template <bool Integer>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256 add_sums_of(__m256 a, __m256 b) noexcept {
  if constexpr (Integer)
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
  else
    return _mm256_add_ps(a, b);
}

/// Keeps a sum in its register. Where two steps follow each other, g++ would mix them, and has no registers for that.
[[gnu::target("avx2,fma"), gnu::always_inline]] inline void settle(__m256& sum) noexcept {
  __asm__ volatile("" : "+x"(sum));
}

/// The columns of vector v that C has.
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256i kept_lanes(std::int64_t columns, int v) noexcept {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(columns) - 8 * v),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// Where the sums of a tile begin. Asks for what they are written to.
template <int Rows, int Vectors>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline void load_sums(__m256 (&sum)[Rows][Vectors], float* c,
                                                                      std::int64_t ldc, std::int64_t columns,
                                                                      tile_mode mode) noexcept {
  #pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
    for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_setzero_ps();
    prefetch_to_write(c + r * ldc);
  }
  if (mode != tile_mode::resume) return;
  const bool whole = columns == 8 * Vectors;
  #pragma GCC unroll 12
  for (int v = 0; v < Vectors; ++v) {
    const __m256i kept = kept_lanes(columns, v);
  #pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const float* const from = c + r * ldc + 8 * v;
      sum[r][v] = whole ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, kept);
    }
  }
}

/// Sums that become C, in the lanes that it has.
template <bool Integer, int Rows, int Vectors>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline void store_sums(__m256 (&sum)[Rows][Vectors], float* c,
                                                                       std::int64_t ldc, std::int64_t columns,
                                                                       tile_mode mode) noexcept {
  if (columns == 8 * Vectors) {
  #pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
      for (int v = 0; v < Vectors; ++v) {
        float* const to = c + r * ldc + 8 * v;
        if (mode == tile_mode::add) sum[r][v] = add_sums_of<Integer>(_mm256_loadu_ps(to), sum[r][v]);
        _mm256_storeu_ps(to, sum[r][v]);
      }
    }
    return;
  }
  alignas(32) float lanes[8 * Vectors];
  #pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    float* const to = c + r * ldc;
  #pragma GCC unroll 12
    for (int v = 0; v < Vectors; ++v) {
      if (mode == tile_mode::add)
        sum[r][v] = add_sums_of<Integer>(_mm256_maskload_ps(to + 8 * v, kept_lanes(columns, v)), sum[r][v]);
      _mm256_store_ps(lanes + 8 * v, sum[r][v]);
    }
    std::memcpy(to, lanes, static_cast<std::size_t>(columns) * sizeof(float));
  }
}

/// Adds the terms of one step; a panel in place may end at the last column.
template <int Rows, int Vectors, bool Whole>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline void add_step_avx2(__m256 (&sum)[Rows][Vectors],
                                                                          [[maybe_unused]] const __m256i* kept,
                                                                          const float* a, std::int64_t a_row,
                                                                          const float* b) noexcept {
  __m256 column[Vectors];
  #pragma GCC unroll 12
  for (int v = 0; v < Vectors; ++v) {
    if constexpr (Whole) column[v] = _mm256_loadu_ps(b + 8 * v);
    if constexpr (!Whole) column[v] = _mm256_maskload_ps(b + 8 * v, kept[v]);
  }
  #pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    const __m256 row = _mm256_broadcast_ss(a + r * a_row);
  #pragma GCC unroll 12
    for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_fmadd_ps(row, column[v], sum[r][v]);
  }
}

template <int Rows, int Vectors>
[[gnu::target("avx2,fma")]] void tile_avx2(std::int64_t k, const float* a, std::int64_t a_row, std::int64_t a_step,
                                           const float* b, std::int64_t b_step, float* c, std::int64_t ldc,
                                           std::int64_t columns, tile_mode mode) noexcept {
  __m256 sum[Rows][Vectors];
  load_sums(sum, c, ldc, columns, mode);
  if (columns == 8 * Vectors) {
    for (std::int64_t p = 0; p < k; ++p, a += a_step, b += b_step)
      add_step_avx2<Rows, Vectors, true>(sum, nullptr, a, a_row, b);
  } else {
    __m256i kept[Vectors];
    for (int v = 0; v < Vectors; ++v) kept[v] = kept_lanes(columns, v);
    for (std::int64_t p = 0; p < k; ++p, a += a_step, b += b_step)
      add_step_avx2<Rows, Vectors, false>(sum, kept, a, a_row, b);
  }
  store_sums<false>(sum, c, ldc, columns, mode);
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
    .pack = pack_avx2<pack_source::f32>,
    .pack_bfloat16 = pack_avx2<pack_source::bfloat16>,
};

}  // namespace tokamax::simd::detail
#endif
