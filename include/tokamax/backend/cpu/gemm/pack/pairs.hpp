// tokamax/backend/cpu/gemm/pack/pairs.hpp: panels of bfloat16 pairs, the terms that x86-64 multiplies two at a time.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/pack/strips.hpp>  // pack_call
#include <tokamax/backend/cpu/vector/prefetch.hpp>   // prefetch_to_read
#include <tokamax/backend/cpu/vector/simd.hpp>       // the intrinsics

#include <algorithm>  // min
#include <cstdint>    // int64_t
#include <cstring>    // memcpy

#if defined(__x86_64__)
namespace tokamax::cpu_backend::detail {

  #define TOKAMAX_PAIRS_TARGET gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")

/// 16 words of 4 bytes, each a pair of bfloat16 with the earlier one in the low half.
using pair_words = int __attribute__((vector_size(64)));

template <int... Words>
[[TOKAMAX_PAIRS_TARGET, gnu::always_inline]] inline pair_words mix(pair_words a, pair_words b) noexcept {
  return __builtin_shufflevector(a, b, Words...);
}

/// Transposes a square of pairs: word j of row i becomes word i of row j. Three rounds exchange words, pairs of words, and
/// then quarters of registers.
[[TOKAMAX_PAIRS_TARGET, gnu::always_inline]] inline void transpose_pairs(pair_words* r) noexcept {
  pair_words t[16];
  #pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {  // exchange neighbouring words
    t[i] = mix<0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29>(r[i], r[i + 1]);
    t[i + 1] = mix<2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31>(r[i], r[i + 1]);
  }
  #pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
  #pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {  // exchange neighbouring pairs of words
      r[i + 2 * k] = mix<0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29>(t[i + k], t[i + k + 2]);
      r[i + 2 * k + 1] = mix<2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31>(t[i + k], t[i + k + 2]);
    }
  }
  #pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {  // collect even and odd quarters of rows 0 ... 7 and 8 ... 15
    const int from = j < 4 ? j : 4 + j;
    t[j] = mix<0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27>(r[from], r[from + 4]);
    t[8 + j] = mix<4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31>(r[from], r[from + 4]);
  }
  #pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    const int from = j < 4 ? j : 4 + j;
    r[j] = mix<0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27>(t[from], t[from + 4]);
    r[8 + j] = mix<4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31>(t[from], t[from + 4]);
  }
}

/// A mask of the first `n` bits.
template <class Mask>
constexpr Mask first_bits(std::int64_t n) noexcept {
  constexpr std::int64_t bits = 8 * sizeof(Mask);
  return n >= bits ? static_cast<Mask>(-1) : n <= 0 ? Mask{0} : static_cast<Mask>((std::uint64_t{1} << n) - 1);
}

/// 16 pairs of one lane whose steps are contiguous. Those from `left` on are zero.
[[TOKAMAX_PAIRS_TARGET, gnu::always_inline]] inline pair_words pairs_of_lane(const float* from,
                                                                             std::int64_t left) noexcept {
  return reinterpret_cast<pair_words>(
      _mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(first_bits<__mmask16>(left - 16), from + 16),
                          _mm512_maskz_loadu_ps(first_bits<__mmask16>(left), from)));
}
[[TOKAMAX_PAIRS_TARGET, gnu::always_inline]] inline pair_words pairs_of_lane(const std::uint16_t* from,
                                                                             std::int64_t left) noexcept {
  return reinterpret_cast<pair_words>(_mm512_maskz_loadu_epi16(first_bits<__mmask32>(left), from));
}

/// One pair of 16 contiguous lanes. If there is no second step, its half is zero. The masked forms of instructions are used,
/// with all bits set, because gcc 12 warns about undefined values in the plain forms.
[[TOKAMAX_PAIRS_TARGET, gnu::always_inline]] inline pair_words pair_of_lanes(const float* first, const float* second,
                                                                             __mmask16 kept) noexcept {
  const __m512bh both =
      _mm512_cvtne2ps_pbh(second != nullptr ? _mm512_maskz_loadu_ps(kept, second) : _mm512_setzero_ps(),
                          _mm512_maskz_loadu_ps(kept, first));
  const __m512i order = _mm512_or_si512(
      _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
      _mm512_maskz_slli_epi32(0xffff, _mm512_set_epi32(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16),
                              16));
  return reinterpret_cast<pair_words>(
      _mm512_maskz_permutexvar_epi16(0xffffffffu, order, reinterpret_cast<__m512i>(both)));
}
[[TOKAMAX_PAIRS_TARGET, gnu::always_inline]] inline pair_words pair_of_lanes(const std::uint16_t* first,
                                                                             const std::uint16_t* second,
                                                                             __mmask16 kept) noexcept {
  const __m512i low = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(kept, first));
  if (second == nullptr) return reinterpret_cast<pair_words>(low);
  const __m512i high = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(kept, second));
  return reinterpret_cast<pair_words>(_mm512_or_si512(low, _mm512_maskz_slli_epi32(0xffff, high, 16)));
}

/// One pair of up to 16 contiguous lanes. Prefetches the rows that follow.
template <class T>
[[TOKAMAX_PAIRS_TARGET, gnu::always_inline]] inline pair_words read_pair(std::int64_t lanes, std::int64_t steps,
                                                                         const T* source,
                                                                         std::int64_t step_stride) noexcept {
  prefetch_to_read(source + rows_ahead * step_stride);
  prefetch_to_read(source + (rows_ahead + 1) * step_stride);
  return pair_of_lanes(source, steps > 1 ? source + step_stride : nullptr, first_bits<__mmask16>(lanes));
}

/// Up to 32 steps of one lane as contiguous numbers: in place, or gathered into a buffer. Prefetches the memory of later
/// squares, because the run of a lane is too short for the hardware prefetcher.
template <class T>
[[gnu::always_inline]] inline const T* steps_of_lane(const T* from, std::int64_t steps, std::int64_t step_stride,
                                                     T* gathered) noexcept {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (std::int64_t i = 0; i < 32; i += line) prefetch_to_read(from + bytes_ahead / std::int64_t{sizeof(T)} + i);
  if (step_stride == 1) return from;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(steps, 32); ++i) gathered[i] = from[i * step_stride];
  return gathered;
}

/// A square of up to 16 lanes and 16 pairs. Row i has the pairs of lane i, and the rest is zero.
template <class T>
[[TOKAMAX_PAIRS_TARGET, gnu::always_inline]] inline void read_pairs(pair_words* square, std::int64_t lanes,
                                                                    std::int64_t steps, const T* source,
                                                                    std::int64_t lane_stride,
                                                                    std::int64_t step_stride) noexcept {
  T gathered[32];
  #pragma GCC unroll 16
  for (int l = 0; l < 16; ++l) {
    if (l >= lanes) {
      square[l] = pair_words{};
      continue;
    }
    square[l] = pairs_of_lane(steps_of_lane(source + l * lane_stride, steps, step_stride, gathered), steps);
  }
}

/// Keeps the first `kept` words.
[[TOKAMAX_PAIRS_TARGET, gnu::always_inline]] inline void store_words(float* to, std::int64_t kept,
                                                                     const pair_words& words) noexcept {
  prefetch_to_write(to + words_ahead);
  _mm512_mask_storeu_epi32(to, first_bits<__mmask16>(kept), reinterpret_cast<__m512i>(words));
}

/// Stores the first lanes of a square, whose rows they are; 16 at most.
inline void copy_lanes(float* to, const pair_words* square, std::int64_t lanes) noexcept {
  std::memcpy(to, square, static_cast<std::size_t>(std::min<std::int64_t>(lanes, 16)) * sizeof(pair_words));
}

/// Packs a panel with lanes side by side: word q * lanes_padded + l is pair q of lane l.
template <class T>
[[TOKAMAX_PAIRS_TARGET]] void pack_pairs(const pack_call<T>& call) noexcept {
  auto [packed, lanes_padded, lanes, steps, source, lane_stride, step_stride] = call;
  if (lane_stride == 1) {
    for (std::int64_t p = 0; p < steps; p += 2)
      for (std::int64_t l = 0; l < lanes_padded; l += 16)
        store_words(packed + p / 2 * lanes_padded + l, lanes_padded - l,
                    read_pair(lanes - l, steps - p, source + l + p * step_stride, step_stride));
    return;
  }
  for (std::int64_t p = 0; p < steps; p += 32) {
    const std::int64_t pairs = std::min<std::int64_t>(16, (steps - p + 1) / 2);
    for (std::int64_t l = 0; l < lanes_padded; l += 16) {
      pair_words square[16];
      read_pairs(square, lanes - l, steps - p, source + l * lane_stride + p * step_stride, lane_stride, step_stride);
      transpose_pairs(square);
      for (std::int64_t q = 0; q < pairs; ++q)
        store_words(packed + (p / 2 + q) * lanes_padded + l, lanes_padded - l, square[q]);
    }
  }
}

/// Packs a panel with pairs side by side, 16 of each lane: word (q / 16 * lanes_padded + l) * 16 + q % 16 is pair q of lane l.
/// Lanes that the matrix does not have are not written, because nobody uses their sums.
template <class T>
[[TOKAMAX_PAIRS_TARGET]] void pack_pairs_by_lane(const pack_call<T>& call) noexcept {
  auto [packed, lanes_padded, lanes, steps, source, lane_stride, step_stride] = call;
  for (std::int64_t p = 0; p < steps; p += 32) {
    for (std::int64_t l = 0; l < lanes; l += 16) {
      pair_words square[16];
      const T* const from = source + l * lane_stride + p * step_stride;
      if (lane_stride == 1) {
  #pragma GCC unroll 16
        for (int q = 0; q < 16; ++q)
          square[q] = 2 * q < steps - p
                          ? read_pair(lanes - l, steps - p - 2 * q, from + 2 * q * step_stride, step_stride)
                          : pair_words{};
        transpose_pairs(square);
      } else {
        read_pairs(square, lanes - l, steps - p, from, lane_stride, step_stride);
      }
      copy_lanes(packed + (p / 32 * lanes_padded + l) * 16, square, lanes - l);
    }
  }
}

  #undef TOKAMAX_PAIRS_TARGET

}  // namespace tokamax::cpu_backend::detail
#endif
