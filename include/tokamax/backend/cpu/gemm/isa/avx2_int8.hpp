// tokamax/backend/cpu/gemm/isa/avx2_int8.hpp: panels and register tiles of int8 products for AVX2.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/int8.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/avx2_sums.hpp>    // load_sums, store_sums
#include <tokamax/backend/cpu/gemm/microkernel_set.hpp>  // microkernel_set
#include <tokamax/backend/cpu/gemm/pack/strips.hpp>      // transpose_words
#include <tokamax/backend/cpu/vector/prefetch.hpp>       // prefetch_to_read

#include <algorithm>  // min
#include <cstdint>    // int64_t
#include <cstring>    // memcpy

#if defined(__x86_64__)
namespace tokamax::cpu_backend::detail {

// Sums of two products of 16 bits are exact, and two multiplications of them are as fast as the one of bytes that cuts its
// sums. A packed step has four terms, two of which are multiplied at a time. In panels of B they are bytes: the first two
// of 8 lanes, then the last two of these lanes. In panels of A they are 16 bits wide: the four terms of a lane are words
// 2 (q * lanes_padded + l) and the next.

/// The first n of 8 bytes; zeros behind.
[[gnu::always_inline]] inline std::int64_t first_bytes(const std::int8_t* from, std::int64_t n) noexcept {
  std::int64_t all = 0;
  if (n >= 8) {
    std::memcpy(&all, from, 8);
  } else if (n >= 4) {
    std::uint32_t low = 0, high = 0;  // they overlap
    std::memcpy(&low, from, 4);
    std::memcpy(&high, from + n - 4, 4);
    all = static_cast<std::int64_t>(low | std::uint64_t{high} << (8 * (n - 4)));
  } else {
    for (std::int64_t i = 0; i < n; ++i) all |= std::int64_t{static_cast<std::uint8_t>(from[i])} << (8 * i);
  }
  return all;
}
/// The first n of 16 bytes; zeros behind.
[[gnu::target("avx2"), gnu::always_inline]] inline __m128i first_16_bytes(const std::int8_t* from,
                                                                          std::int64_t n) noexcept {
  if (n >= 16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm_set_epi64x(n > 8 ? first_bytes(from + 8, n - 8) : 0, first_bytes(from, n));
}

/// The steps of a lane, side by side: where they lie, or gathered.
[[gnu::always_inline]] inline const std::int8_t* steps_of_lane(std::int8_t* gathered, std::int64_t n,
                                                               const std::int8_t* from, std::int64_t stride) noexcept {
  if (stride == 1) return from;
  for (std::int64_t i = 0; i < n; ++i) gathered[i] = from[i * stride];
  return gathered;
}

/// Panels of B, of 16 lanes. The four words of a step are the first two terms of the lanes 0 to 7, their last two terms, and
/// the same of the lanes 8 to 15, so that one load of 16 bytes has the pairs of 8 lanes.
[[gnu::target("avx2")]] inline void pack_int8_columns(const pack_call<std::int8_t>& call) noexcept {
  auto [packed, lanes_padded, lanes, steps, source, lane_stride, step_stride] = call;
  const auto word = [&](std::int64_t quad) { return reinterpret_cast<__m128i*>(packed + quad * lanes_padded); };
  if (lane_stride == 1) {  // rows of the source are steps: four of them are interleaved byte by byte
    for (std::int64_t p = 0; p < steps; p += 4) {
      __m128i r[4];
  #pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        r[i] = p + i < steps ? first_16_bytes(source + (p + i) * step_stride, lanes) : _mm_setzero_si128();
        prefetch_to_read(source + (p + i + rows_ahead) * step_stride);
      }
      prefetch_to_write(packed + p / 4 * lanes_padded + words_ahead);
      __m128i* const to = word(p / 4);
      _mm_storeu_si128(to, _mm_unpacklo_epi8(r[0], r[1]));
      _mm_storeu_si128(to + 1, _mm_unpacklo_epi8(r[2], r[3]));
      _mm_storeu_si128(to + 2, _mm_unpackhi_epi8(r[0], r[1]));
      _mm_storeu_si128(to + 3, _mm_unpackhi_epi8(r[2], r[3]));
    }
    return;
  }
  // Rows of the source are lanes: 8 lanes of 32 steps are transposed as words of four steps, whose halves are then sorted.
  const __m256i halves =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  for (std::int64_t half = 0; half < 2; ++half) {
    for (std::int64_t p = 0; p < steps; p += 32) {
      const std::int64_t left = std::min<std::int64_t>(32, steps - p);
      __m256 r[8];
  #pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        const std::int64_t lane = 8 * half + i;
        std::int8_t gathered[32];
        const std::int8_t* from = source + lane * lane_stride + p * step_stride;
        prefetch_to_read(from + bytes_ahead);
        r[i] = _mm256_setzero_ps();
        if (lane >= lanes) continue;
        from = steps_of_lane(gathered, left, from, step_stride);
        r[i] = _mm256_castsi256_ps(_mm256_setr_m128i(first_16_bytes(from, left), first_16_bytes(from + 16, left - 16)));
      }
      transpose_words(r);
      for (std::int64_t q = 0; 4 * q < left; ++q) {
        const __m256i sorted =
            _mm256_permute4x64_epi64(_mm256_shuffle_epi8(_mm256_castps_si256(r[q]), halves), 0b11011000);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(word(p / 4 + q) + 2 * half), sorted);
      }
    }
  }
}

/// Panels of A: bytes become 16 bits here, once, and not in every tile. A tile broadcasts two terms of a row as one word.
[[gnu::target("avx2")]] inline void pack_int8_rows(const pack_call<std::int8_t>& call) noexcept {
  auto [packed, lanes_padded, lanes, steps, source, lane_stride, step_stride] = call;
  const auto quad = [&](std::int64_t q, std::int64_t lane) { return packed + 2 * (q * lanes_padded + lane); };
  if (lane_stride == 1 && lanes_padded <= 8) {  // rows of the source are steps: a transposition of 4 x 8 words
    for (std::int64_t p = 0; p < steps; p += 4) {
      __m128i r[4];
  #pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        r[i] = p + i < steps ? _mm_cvtepi8_epi16(_mm_cvtsi64_si128(first_bytes(source + (p + i) * step_stride, lanes)))
                             : _mm_setzero_si128();
      }
      const __m128i first[2] = {_mm_unpacklo_epi16(r[0], r[1]), _mm_unpackhi_epi16(r[0], r[1])};
      const __m128i last[2] = {_mm_unpacklo_epi16(r[2], r[3]), _mm_unpackhi_epi16(r[2], r[3])};
      const __m128i two[4] = {_mm_unpacklo_epi32(first[0], last[0]), _mm_unpackhi_epi32(first[0], last[0]),
                              _mm_unpacklo_epi32(first[1], last[1]), _mm_unpackhi_epi32(first[1], last[1])};
      std::memcpy(quad(p / 4, 0), two, static_cast<std::size_t>(8 * lanes_padded));
    }
    return;
  }
  for (std::int64_t l = 0; l < lanes_padded; ++l) {  // rows of the source are lanes: 16 steps make four groups
    for (std::int64_t p = 0; p < steps; p += 16) {
      const std::int64_t left = l < lanes ? std::min<std::int64_t>(16, steps - p) : 0;
      std::int8_t gathered[16];
      const std::int8_t* const from =
          steps_of_lane(gathered, left, source + l * lane_stride + p * step_stride, step_stride);
      alignas(32) std::int64_t four[4];
      _mm256_store_si256(reinterpret_cast<__m256i*>(four), _mm256_cvtepi8_epi16(first_16_bytes(from, left)));
      for (std::int64_t q = 0; q < 4 && p + 4 * q < steps; ++q) std::memcpy(quad(p / 4 + q, l), &four[q], 8);
    }
  }
}

/// A register tile of Rows x 16 sums of i32. Each half of a step widens the bytes of B to 16 bits and multiplies two terms.
/// Six rows have 12 sums; two registers hold B, one holds a row of A and one a product, so all 16 are used.
template <int Rows>
[[gnu::target("avx2,fma")]] void tile_int8_avx2(const tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  __m256 sum[Rows][2];
  load_sums(sum, c, ldc, columns, mode);
  for (std::int64_t p = 0; p < k; ++p) {
  #pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      __m256i column[2];
  #pragma GCC unroll 2
      for (int v = 0; v < 2; ++v)
        column[v] = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + 8 * v + 4 * half)));
  #pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const __m256i row = _mm256_castps_si256(_mm256_broadcast_ss(a + r * a_row + half));
  #pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
          sum[r][v] = add_sums_of<true>(sum[r][v], _mm256_castsi256_ps(_mm256_madd_epi16(row, column[v])));
          settle(sum[r][v]);
        }
      }
    }
    a += a_step;
    b += b_step;
  }
  store_sums<true>(sum, c, ldc, columns, mode);
}

/// Products of int8. A block of 1536 terms of 16 columns of B is 24 KiB of bytes, which stay in the first-level cache.
inline constexpr microkernel_set gemm_avx2_int8 = {
    .terms = 4,
    .a_words = 2,
    .a_in_place = false,
    .b_in_place = false,
    .rows = 6,
    .columns = 16,
    .k_block = 1536,
    .tile = {nullptr, tile_int8_avx2<1>, tile_int8_avx2<2>, tile_int8_avx2<3>, tile_int8_avx2<4>, tile_int8_avx2<5>,
             tile_int8_avx2<6>},
    .wide = {},
    .wide_columns = {},
    .pack = nullptr,
    .pack_bfloat16 = nullptr,
    .pack_int8 = pack_int8_columns,
    .pack_a_int8 = pack_int8_rows,
    .integer = true,
};

}  // namespace tokamax::cpu_backend::detail
#endif
