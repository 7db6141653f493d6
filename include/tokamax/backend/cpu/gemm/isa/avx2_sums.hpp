// tokamax/backend/cpu/gemm/isa/avx2_sums.hpp: loads and stores the sums of AVX2's register tiles.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/microkernel_set.hpp>  // tile_mode
#include <tokamax/backend/cpu/gemm/pack/strips.hpp>      // first_of_8
#include <tokamax/backend/cpu/vector/prefetch.hpp>       // prefetch_to_write
#include <tokamax/backend/cpu/vector/simd.hpp>           // the intrinsics

#include <cstdint>  // int64_t
#include <cstring>  // memcpy

#if defined(__x86_64__)
namespace tokamax::cpu_backend::detail {

/// a + b, as i32 or as f32.
template <bool Integer>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256 add_sums_of(__m256 a, __m256 b) noexcept {
  if constexpr (Integer)
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
  else
    return _mm256_add_ps(a, b);
}

/// Keeps a sum in its register. Otherwise g++ interleaves two consecutive steps, for which there are not enough registers.
[[gnu::target("avx2,fma"), gnu::always_inline]] inline void settle(__m256& sum) noexcept {
  __asm__ volatile("" : "+x"(sum));
}

// A tile has Rows x 8 Vectors sums, one register for 8 of them, and C is [Rows, columns] with rows that are ldc apart. Loops
// over sums are unrolled whole, because an array that is indexed by a variable would not be kept in registers. Sums of i32
// share the registers' type with f32; only their addition differs.

/// Sets the first values of the sums of a tile, and prefetches the memory to which they will be written. Only a sum that is
/// resumed begins with C. Otherwise C is added at the end, so that reading it does not delay the first product.
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
    const __m256i kept = first_of_8(columns - 8 * v);
  #pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const float* const from = c + r * ldc + 8 * v;
      sum[r][v] = whole ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, kept);
    }
  }
}

/// Writes sums to C, in the lanes that C has. Rows of a partial tile go through memory of their own: they are copied with
/// one memcpy, because a masked store of AVX2 is dozens of micro-operations on AMD's processors.
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
  alignas(32) float lanes[8 * Vectors];  // a row of the tile, of which C has the first `columns` sums
  #pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    float* const to = c + r * ldc;
  #pragma GCC unroll 12
    for (int v = 0; v < Vectors; ++v) {
      if (mode == tile_mode::add)
        sum[r][v] = add_sums_of<Integer>(_mm256_maskload_ps(to + 8 * v, first_of_8(columns - 8 * v)), sum[r][v]);
      _mm256_store_ps(lanes + 8 * v, sum[r][v]);
    }
    std::memcpy(to, lanes, static_cast<std::size_t>(columns) * sizeof(float));
  }
}

}  // namespace tokamax::cpu_backend::detail
#endif
