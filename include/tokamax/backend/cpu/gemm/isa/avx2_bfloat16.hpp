// tokamax/backend/cpu/gemm/isa/avx2_bfloat16.hpp: panels and register tiles of bfloat16 products for AVX2.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/avx2_sums.hpp>          // load_sums, store_sums
#include <tokamax/backend/cpu/gemm/isa/avx2_transposed_b.hpp>  // transposed_b_tile
#include <tokamax/backend/cpu/gemm/microkernel_set.hpp>        // microkernel_set
#include <tokamax/backend/cpu/gemm/pack/strips.hpp>            // load_packed, transpose_words, pack_avx2
#include <tokamax/backend/cpu/vector/prefetch.hpp>             // prefetch_to_read

#include <algorithm>  // clamp, copy_n, fill_n, min
#include <cstdint>    // int64_t

#if defined(__x86_64__)
namespace tokamax::cpu_backend::detail {

// AVX2 has no instructions for bfloat16, so products are computed in f32. Panels of B have two terms in a word, which halves
// the memory that is read. Tiles convert them on execution ports that multiplications do not use. Panels of A are f32.

/// The two terms of 8 lanes as f32 numbers.
[[gnu::target("avx2"), gnu::always_inline]] inline __m256 pair_of(__m256 first, __m256 second) noexcept {
  const __m256i low = _mm256_srli_epi32(_mm256_castps_si256(first), 16);
  return _mm256_castsi256_ps(_mm256_or_si256(low, _mm256_castps_si256(second)));
}

/// 8 pairs of one lane whose 16 steps are contiguous.
template <pack_source S>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256 pairs_along(const pack_element<S>* from) noexcept {
  if constexpr (S == pack_source::bfloat16) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  } else {
    const __m256i low = _mm256_srli_epi32(_mm256_castps_si256(load_packed<S>(from)), 16),
                  high = _mm256_srli_epi32(_mm256_castps_si256(load_packed<S>(from + 8)), 16);
    return _mm256_castsi256_ps(_mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0b11011000));
  }
}

/// Packs panels of B. Word q * lanes_padded + l has term 2q of lane l in its low half, and term 2q + 1 in its high half.
template <pack_source S>
[[gnu::target("avx2,fma")]] void pack_pairs_avx2(const pack_call<pack_element<S>>& call) noexcept {
  auto [packed, lanes_padded, lanes, steps, source, lane_stride, step_stride] = call;
  using element = pack_element<S>;
  if (lane_stride == 1) {  // rows of the source are steps: two of them make a row of pairs
    for (std::int64_t p = 0; p < steps; p += 2) {
      for (std::int64_t l = 0; l < lanes_padded; l += 8) {
        const element* const first = source + p * step_stride + l;
        const element* const second = first + step_stride;
        prefetch_to_read(first + rows_ahead * step_stride);
        prefetch_to_read(second + rows_ahead * step_stride);
        prefetch_to_write(packed + words_ahead);
        const bool whole = lanes - l >= 8 && steps - p >= 2;
        const std::int64_t kept = std::clamp<std::int64_t>(lanes - l, 0, 8);
        _mm256_storeu_ps(packed, whole ? pair_of(load_packed<S>(first), load_packed<S>(second))
                                       : pair_of(load_packed_first<S>(first, kept),
                                                 load_packed_first<S>(second, steps - p >= 2 ? kept : 0)));
        packed += 8;
      }
    }
    return;
  }
  // Rows of the source are lanes: 8 lanes of 8 pairs are transposed, which takes 8 registers of the 16.
  for (std::int64_t l = 0; l < lanes_padded; l += 8) {
    for (std::int64_t p = 0; p < steps; p += 16) {
      const std::int64_t left = std::min<std::int64_t>(16, steps - p);
      __m256 r[8];
  #pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        r[i] = _mm256_setzero_ps();
        if (l + i >= lanes) continue;
        const element* from = source + (l + i) * lane_stride + p * step_stride;
        __builtin_prefetch(from + 8 * lane_stride);  // the run of a lane is too short for the hardware prefetcher
        element gathered[16] = {};
        if (step_stride != 1 || left < 16) {
          for (std::int64_t s = 0; s < left; ++s) gathered[s] = from[s * step_stride];
          from = gathered;
        }
        r[i] = pairs_along<S>(from);
      }
      transpose_words(r);
      for (std::int64_t q = 0; 2 * q < left; ++q) {
        float* const to = packed + (p / 2 + q) * lanes_padded + l;
        prefetch_to_write(to + words_ahead);
        _mm256_storeu_ps(to, r[q]);
      }
    }
  }
}

/// Packs panels of A, in whole pairs of terms. If the number of steps is odd, the last term is zero.
template <pack_source S>
void pack_whole_pairs(const pack_call<pack_element<S>>& call) noexcept {
  pack_avx2<S>(call);
  if (call.steps % 2 != 0) std::fill_n(call.packed + call.steps * call.lanes_padded, call.lanes_padded, 0.0f);
}

/// A register tile of Rows x 8 Vectors sums. The two terms of a pair follow one another: the low half of a word becomes f32
/// by a shift, the high half by a mask, since bfloat16 is the upper half of f32. A step has `height` floats of A for each
/// of its terms. With four vectors the tile reads two panels that follow one another.
template <int Rows, int Vectors = 2>
[[gnu::target("avx2,fma")]] void tile_pairs_avx2(const tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  const std::int64_t panel = k * b_step, height = a_step / 2;
  __m256 sum[Rows][Vectors];
  load_sums(sum, c, ldc, columns, mode);
  for (std::int64_t p = 0; p < k; ++p) {
  #pragma GCC unroll 2
    for (int term = 0; term < 2; ++term) {
      __m256 column[Vectors];
  #pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        const __m256i pair = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + v / 2 * panel + v % 2 * 8));
        column[v] = _mm256_castsi256_ps(term == 0 ? _mm256_slli_epi32(pair, 16) : _mm256_and_si256(pair, upper));
      }
  #pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const __m256 row = _mm256_broadcast_ss(a + term * height + r);
  #pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
          sum[r][v] = _mm256_fmadd_ps(row, column[v], sum[r][v]);
          settle(sum[r][v]);
        }
      }
    }
    a += a_step;
    b += b_step;
  }
  store_sums<false>(sum, c, ldc, columns, mode);
}

/// A tile for few rows and an unpacked B, whose rows of bfloat16 are b_step elements apart. Fewer rows leave registers for
/// more columns, up to 64 of one row, which need fewer passes over A and read B in longer runs.
template <int Rows, int Vectors>
[[gnu::target("avx2,fma")]] void tile_of_halves_avx2(const tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  const bool whole = columns == 8 * Vectors;  // if not, each row of B is copied, so that no load leaves it
  const std::int64_t height = a_step / 2;
  const auto* from = reinterpret_cast<const std::uint16_t*>(b);
  std::uint16_t rest[8 * Vectors] = {};
  __m256 sum[Rows][Vectors];
  load_sums(sum, c, ldc, columns, mode);
  for (std::int64_t p = 0; p < 2 * k; ++p) {
    if (!whole) std::copy_n(from, columns, rest);
    const std::uint16_t* const at = whole ? from : rest;
  #pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      const __m256 column = load_packed<pack_source::bfloat16>(at + 8 * v);
  #pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) sum[r][v] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + r), column, sum[r][v]);
    }
    a += height;
    from += b_step;
  }
  store_sums<false>(sum, c, ldc, columns, mode);
}

/// Products of bfloat16. 6 x 16 sums fill 12 of the 16 registers; two hold a row of B and one an element of A.
inline constexpr microkernel_set gemm_avx2_bfloat16 = {
    .terms = 2,
    .a_words = 2,
    .a_in_place = false,
    .b_in_place = true,
    .rows = 6,
    .columns = 16,
    .tile = {nullptr, tile_pairs_avx2<1>, tile_pairs_avx2<2>, tile_pairs_avx2<3>, tile_pairs_avx2<4>,
             tile_pairs_avx2<5>, tile_pairs_avx2<6>},
    .wide = {nullptr, tile_of_halves_avx2<1, 8>, tile_of_halves_avx2<2, 4>, tile_of_halves_avx2<3, 3>,
             tile_of_halves_avx2<4, 2>, tile_of_halves_avx2<5, 2>, tile_of_halves_avx2<6, 2>},
    .wide_columns = {0, 64, 32, 24, 16, 16, 16},
    .transposed_b = {nullptr, transposed_b_tile<1, pack_source::bfloat16>, transposed_b_tile<2, pack_source::bfloat16>,
                     transposed_b_tile<3, pack_source::bfloat16>, transposed_b_tile<4, pack_source::bfloat16>,
                     transposed_b_tile<5, pack_source::bfloat16>, transposed_b_tile<6, pack_source::bfloat16>},
    .two_panel = {nullptr, tile_pairs_avx2<1, 4>, tile_pairs_avx2<2, 4>},
    .pack = pack_pairs_avx2<pack_source::rounded>,
    .pack_bfloat16 = pack_pairs_avx2<pack_source::bfloat16>,
    .pack_a = pack_whole_pairs<pack_source::rounded>,
    .pack_a_bfloat16 = pack_whole_pairs<pack_source::bfloat16>,
};

}  // namespace tokamax::cpu_backend::detail
#endif
