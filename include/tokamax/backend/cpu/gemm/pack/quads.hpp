// tokamax/backend/cpu/gemm/pack/quads.hpp: panels of four int8, the terms that x86-64 multiplies at a time.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/int8.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/pack/pairs.hpp>   // transpose_pairs, first_bits
#include <tokamax/backend/cpu/gemm/pack/strips.hpp>  // pack_call
#include <tokamax/backend/cpu/vector/prefetch.hpp>   // prefetch_to_read
#include <tokamax/backend/cpu/vector/simd.hpp>       // the intrinsics

#include <algorithm>  // min
#include <cstdint>    // int64_t
#include <cstring>    // memcpy

#if defined(__x86_64__)
namespace tokamax::cpu_backend::detail {

/// Word q of lane l, four terms with the earliest in the lowest byte, is the word
///   columns, unsigned_rows:  q * lanes_padded + l, in unsigned rows with 128 added to each term
///   by_lane:                 (q / 16 * lanes_padded + l) * 16 + q % 16, without lanes that the matrix does not have
enum class quad_layout { columns, unsigned_rows, by_lane };

  #define TOKAMAX_QUADS_TARGET gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")

/// 4 steps of up to 16 contiguous lanes. Word l has the steps of lane l.
[[TOKAMAX_QUADS_TARGET, gnu::always_inline]] inline pair_words quad_of_lanes(const std::int8_t* from,
                                                                             std::int64_t lanes, std::int64_t steps,
                                                                             std::int64_t step_stride) noexcept {
  const auto kept = first_bits<__mmask16>(lanes);
  __m128i r[4];
  #pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[i] = i < steps ? _mm_maskz_loadu_epi8(kept, from + i * step_stride) : _mm_setzero_si128();
    prefetch_to_read(from + (rows_ahead + i) * step_stride);
  }
  const __m128i low01 = _mm_unpacklo_epi8(r[0], r[1]), high01 = _mm_unpackhi_epi8(r[0], r[1]);
  const __m128i low23 = _mm_unpacklo_epi8(r[2], r[3]), high23 = _mm_unpackhi_epi8(r[2], r[3]);
  alignas(64) __m128i words[4] = {_mm_unpacklo_epi16(low01, low23), _mm_unpackhi_epi16(low01, low23),
                                  _mm_unpacklo_epi16(high01, high23), _mm_unpackhi_epi16(high01, high23)};
  pair_words all;
  std::memcpy(&all, words, sizeof all);
  return all;
}

/// A square of up to 16 lanes and 16 quads. Row i has the quads of lane i, and the rest is zero. The steps of a lane are
/// contiguous or gathered. Prefetches the memory of later squares.
[[TOKAMAX_QUADS_TARGET, gnu::always_inline]] inline void read_quads(pair_words* square, std::int64_t lanes,
                                                                    std::int64_t steps, const std::int8_t* source,
                                                                    std::int64_t lane_stride,
                                                                    std::int64_t step_stride) noexcept {
  std::int8_t gathered[64];
  #pragma GCC unroll 16
  for (int l = 0; l < 16; ++l) {
    if (l >= lanes) {
      square[l] = pair_words{};
      continue;
    }
    const std::int8_t* from = source + l * lane_stride;
    prefetch_to_read(from + bytes_ahead);
    if (step_stride != 1) {
      for (std::int64_t i = 0; i < std::min<std::int64_t>(steps, 64); ++i) gathered[i] = from[i * step_stride];
      from = gathered;
    }
    square[l] = reinterpret_cast<pair_words>(_mm512_maskz_loadu_epi8(first_bits<__mmask64>(steps), from));
  }
}

template <quad_layout Layout>
[[TOKAMAX_QUADS_TARGET]] void pack_quads(const pack_call<std::int8_t>& call) noexcept {
  auto [packed, lanes_padded, lanes, steps, source, lane_stride, step_stride] = call;
  const pair_words flip = pair_words{} + (Layout == quad_layout::unsigned_rows ? static_cast<int>(0x80808080u) : 0);
  if (lane_stride == 1 && Layout != quad_layout::by_lane) {
    for (std::int64_t p = 0; p < steps; p += 4)
      for (std::int64_t l = 0; l < lanes_padded; l += 16)
        store_words(packed + p / 4 * lanes_padded + l, lanes_padded - l,
                    quad_of_lanes(source + l + p * step_stride, lanes - l, steps - p, step_stride) ^ flip);
    return;
  }
  for (std::int64_t p = 0; p < steps; p += 64) {
    const std::int64_t quads = std::min<std::int64_t>(16, (steps - p + 3) / 4);
    for (std::int64_t l = 0; l < (Layout == quad_layout::by_lane ? lanes : lanes_padded); l += 16) {
      const std::int8_t* const from = source + l * lane_stride + p * step_stride;
      pair_words square[16];
      if (lane_stride == 1) {
  #pragma GCC unroll 16
        for (int q = 0; q < 16; ++q)
          square[q] = 4 * q < steps - p
                          ? quad_of_lanes(from + 4 * q * step_stride, lanes - l, steps - p - 4 * q, step_stride)
                          : pair_words{};
      } else {
        read_quads(square, lanes - l, steps - p, from, lane_stride, step_stride);
      }
      if ((lane_stride == 1) == (Layout == quad_layout::by_lane)) transpose_pairs(square);
      if constexpr (Layout == quad_layout::by_lane) {
        copy_lanes(packed + (p / 64 * lanes_padded + l) * 16, square, lanes - l);
      } else {
        for (std::int64_t q = 0; q < quads; ++q)
          store_words(packed + (p / 4 + q) * lanes_padded + l, lanes_padded - l, square[q] ^ flip);
      }
    }
  }
}

/// The first step of a panel of columns: -128 times the sum of each column, which cancels the 128 that unsigned rows add.
[[gnu::target("avx512f,avx512vnni")]] inline void fill_quad_initial_sums(float* panel, std::int64_t columns,
                                                                         std::int64_t packed_steps) noexcept {
  for (std::int64_t l = 0; l < columns; l += 16) {
    __m512i sum = _mm512_setzero_si512();
    const __m512i ones = _mm512_set1_epi8(1);
    for (std::int64_t q = 1; q <= packed_steps; ++q)
      sum = _mm512_dpbusd_epi32(sum, ones, _mm512_loadu_si512(panel + q * columns + l));
    _mm512_storeu_si512(panel + l, _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_maskz_slli_epi32(0xffff, sum, 7)));
  }
}

  #undef TOKAMAX_QUADS_TARGET

}  // namespace tokamax::cpu_backend::detail
#endif
