// tokamax/backend/cpu/gemm/pack/split_bf16.hpp: panels of f32 numbers as sums of two or three bfloat16, for matrix units.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/pack/split_bf16.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/pack/pairs.hpp>  // pair_words, transpose_pairs, first_bits

#include <algorithm>  // min
#include <cstdint>    // int64_t

#if defined(__x86_64__)
namespace tokamax::cpu_backend::detail {

  #define TOKAMAX_PARTS_TARGET gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")

/// 16 numbers and their bits.
using part_numbers = float __attribute__((vector_size(64)));
using part_bits = std::uint32_t __attribute__((vector_size(64)));

/// Rounds to the nearest bfloat16, in the high half of the word. A carry goes into the exponent.
[[TOKAMAX_PARTS_TARGET, gnu::always_inline]] inline void round_high(part_bits& b) noexcept {
  b += 0x7fff + (b >> 16 & 1);
  b &= 0xffff0000;
}

/// x as a sum of bfloat16 numbers. Part i is the rest of x after the parts before it, rounded to the nearest, in the high
/// half of a word whose low half is unused. Three parts are exactly x if |x| >= 2^-102, and two leave less than 2^-16 |x|.
/// If x is not finite, its first part is x itself. If x would round to infinity, its first part is truncated instead.
template <int Parts>
[[TOKAMAX_PARTS_TARGET, gnu::always_inline]] inline void split(const part_numbers& x, part_bits* parts) noexcept {
  const part_bits bits = reinterpret_cast<part_bits>(x), size = bits & 0x7fffffff;
  const part_bits quiet = size > 0x7f800000 ? bits | 0x00400000 : bits;  // the bits of a NaN may all be in the low half
  parts[0] = bits;
  round_high(parts[0]);
  parts[0] = size >= 0x7f7f8000 ? quiet & 0xffff0000 : parts[0];
  part_numbers left = x - reinterpret_cast<part_numbers>(parts[0]);
  #pragma GCC unroll 2
  for (int i = 1; i < Parts; ++i) {
    parts[i] = reinterpret_cast<part_bits>(left);
    if (i == 2) continue;  // at most eight bits are left, so there is no rounding
    round_high(parts[i]);
    left -= reinterpret_cast<part_numbers>(parts[i]);
  }
}

/// Puts two numbers into each word, with the earlier one in the low half.
[[TOKAMAX_PARTS_TARGET, gnu::always_inline]] inline pair_words join_halves(const part_bits& first,
                                                                           const part_bits& second) noexcept {
  return reinterpret_cast<pair_words>(first >> 16 | (second & 0xffff0000));
}

/// Loads up to 16 contiguous numbers, with zeros after them.
[[TOKAMAX_PARTS_TARGET, gnu::always_inline]] inline part_numbers numbers_at(const float* from,
                                                                            std::int64_t count) noexcept {
  return reinterpret_cast<part_numbers>(_mm512_maskz_loadu_ps(first_bits<__mmask16>(count), from));
}
[[TOKAMAX_PARTS_TARGET, gnu::always_inline]] inline part_numbers numbers_at(const std::uint16_t* from,
                                                                            std::int64_t count) noexcept {
  return reinterpret_cast<part_numbers>(_mm512_maskz_slli_epi32(
      0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(first_bits<__mmask16>(count), from)), 16));
}

/// The parts of one pair of up to 16 contiguous lanes. If there is no second step, its half is zero.
template <int Parts, class T>
[[TOKAMAX_PARTS_TARGET, gnu::always_inline]] inline void split_pair(std::int64_t lanes, std::int64_t steps,
                                                                    const T* source, std::int64_t step_stride,
                                                                    pair_words* to, std::int64_t apart) noexcept {
  prefetch_to_read(source + rows_ahead * step_stride);
  prefetch_to_read(source + (rows_ahead + 1) * step_stride);
  part_bits first[Parts], second[Parts];
  split<Parts>(numbers_at(source, lanes), first);
  split<Parts>(steps > 1 ? numbers_at(source + step_stride, lanes) : part_numbers{}, second);
  #pragma GCC unroll 3
  for (int i = 0; i < Parts; ++i) to[i * apart] = join_halves(first[i], second[i]);
}

/// Squares of up to 16 lanes and 16 pairs, one for each part. Row l has the pairs of lane l, and the rest is zero.
template <int Parts, class T>
[[TOKAMAX_PARTS_TARGET, gnu::always_inline]] inline void split_lanes(pair_words (*squares)[16], std::int64_t lanes,
                                                                     std::int64_t steps, const T* source,
                                                                     std::int64_t lane_stride,
                                                                     std::int64_t step_stride) noexcept {
  T gathered[32];
  for (int l = 0; l < 16; ++l) {
    if (l >= lanes) {
      for (int i = 0; i < Parts; ++i) squares[i][l] = pair_words{};
      continue;
    }
    const T* const from = steps_of_lane(source + l * lane_stride, steps, step_stride, gathered);
    part_bits early[Parts], late[Parts];
    split<Parts>(numbers_at(from, steps), early);
    split<Parts>(numbers_at(from + 16, steps - 16), late);
  #pragma GCC unroll 3
    for (int i = 0; i < Parts; ++i) {
      const pair_words a = reinterpret_cast<pair_words>(early[i]), b = reinterpret_cast<pair_words>(late[i]);
      const pair_words evens = mix<0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30>(a, b);
      const pair_words odds = mix<1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31>(a, b);
      squares[i][l] = join_halves(reinterpret_cast<part_bits>(evens), reinterpret_cast<part_bits>(odds));
    }
  }
}

/// Packs a panel of B: word (q * Parts + i) * lanes_padded + l is part i of pair q of lane l.
template <int Parts, class T>
[[TOKAMAX_PARTS_TARGET]] void pack_split_bf16(const pack_call<T>& call) noexcept {
  auto [packed, lanes_padded, lanes, steps, source, lane_stride, step_stride] = call;
  if (lane_stride == 1) {
    for (std::int64_t p = 0; p < steps; p += 2)
      for (std::int64_t l = 0; l < lanes_padded; l += 16) {
        pair_words parts[Parts];
        split_pair<Parts>(lanes - l, steps - p, source + l + p * step_stride, step_stride, parts, 1);
  #pragma GCC unroll 3
        for (int i = 0; i < Parts; ++i)
          store_words(packed + (p / 2 * Parts + i) * lanes_padded + l, lanes_padded - l, parts[i]);
      }
    return;
  }
  for (std::int64_t p = 0; p < steps; p += 32) {
    const std::int64_t pairs = std::min<std::int64_t>(16, (steps - p + 1) / 2);
    for (std::int64_t l = 0; l < lanes_padded; l += 16) {
      pair_words squares[Parts][16];
      split_lanes<Parts>(squares, lanes - l, steps - p, source + l * lane_stride + p * step_stride, lane_stride,
                         step_stride);
      for (int i = 0; i < Parts; ++i) {
        transpose_pairs(squares[i]);
        for (std::int64_t q = 0; q < pairs; ++q)
          store_words(packed + ((p / 2 + q) * Parts + i) * lanes_padded + l, lanes_padded - l, squares[i][q]);
      }
    }
  }
}

/// Packs a panel of A in whole squares: word ((q / 16 * lanes_padded + l) * Parts + i) * 16 + q % 16 is part i of pair q of
/// lane l.
template <int Parts, class T>
[[TOKAMAX_PARTS_TARGET]] void pack_split_bf16_by_lane(const pack_call<T>& call) noexcept {
  auto [packed, lanes_padded, lanes, steps, source, lane_stride, step_stride] = call;
  for (std::int64_t p = 0; p < steps; p += 32) {
    for (std::int64_t l = 0; l < lanes_padded; l += 16) {
      pair_words squares[Parts][16];
      const T* const from = source + l * lane_stride + p * step_stride;
      if (lane_stride == 1) {
        for (int q = 0; q < 16; ++q)
          if (2 * q < steps - p)
            split_pair<Parts>(lanes - l, steps - p - 2 * q, from + 2 * q * step_stride, step_stride, &squares[0][q],
                              16);
          else
            for (int i = 0; i < Parts; ++i) squares[i][q] = pair_words{};
        for (int i = 0; i < Parts; ++i) transpose_pairs(squares[i]);
      } else {
        split_lanes<Parts>(squares, lanes - l, steps - p, from, lane_stride, step_stride);
      }
      for (std::int64_t r = 0; r < 16; ++r)
        for (int i = 0; i < Parts; ++i)
          store_words(packed + ((p / 32 * lanes_padded + l + r) * Parts + i) * 16, 16, squares[i][r]);
    }
  }
}

  #undef TOKAMAX_PARTS_TARGET

}  // namespace tokamax::cpu_backend::detail
#endif
