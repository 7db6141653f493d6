// tokamax/backend/cpu/gemm/isa/avx2.hpp: register tiles of products for AVX2 with fused multiply-add.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/avx2_sums.hpp>          // load_sums, store_sums
#include <tokamax/backend/cpu/gemm/isa/avx2_transposed_b.hpp>  // transposed_b_tile
#include <tokamax/backend/cpu/gemm/microkernel_set.hpp>        // microkernel_set
#include <tokamax/backend/cpu/gemm/pack/strips.hpp>            // first_of_8, pack_avx2

#include <cstdint>  // int64_t

#if defined(__x86_64__)
namespace tokamax::cpu_backend::detail {

/// Adds the terms of one step to the sums: a column of A times a row of B. If B is not packed, its row may end within the
/// last vector, which is then loaded under a mask.
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

/// A register tile of Rows x 8 Vectors sums. Six rows of two vectors are twelve sums, so that with a row of B and an element of
/// A they fit the sixteen registers.
template <int Rows, int Vectors>
[[gnu::target("avx2,fma")]] void tile_avx2(const tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  __m256 sum[Rows][Vectors];
  load_sums(sum, c, ldc, columns, mode);
  if (columns == 8 * Vectors) {
    for (std::int64_t p = 0; p < k; ++p, a += a_step, b += b_step)
      add_step_avx2<Rows, Vectors, true>(sum, nullptr, a, a_row, b);
  } else {
    __m256i kept[Vectors];  // the lanes that the row of B has
    for (int v = 0; v < Vectors; ++v) kept[v] = first_of_8(columns - 8 * v);
    for (std::int64_t p = 0; p < k; ++p, a += a_step, b += b_step)
      add_step_avx2<Rows, Vectors, false>(sum, kept, a, a_row, b);
  }
  store_sums<false>(sum, c, ldc, columns, mode);
}

/// Products of f32. Few rows take wider tiles, so that there are enough independent sums to hide the latency of each.
inline constexpr microkernel_set gemm_avx2 = {
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
    .transposed_b = {nullptr, transposed_b_tile<1, pack_source::f32>, transposed_b_tile<2, pack_source::f32>,
                     transposed_b_tile<3, pack_source::f32>, transposed_b_tile<4, pack_source::f32>,
                     transposed_b_tile<5, pack_source::f32>, transposed_b_tile<6, pack_source::f32>},
    .pack = pack_avx2<pack_source::f32>,
    .pack_bfloat16 = pack_avx2<pack_source::bfloat16>,
};

}  // namespace tokamax::cpu_backend::detail
#endif
