// tokamax/backend/cpu/gemm/isa/avx512_codes.hpp: few rows times packed weights in AVX-512.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/quantized/packed_dot.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/coded_matrix.hpp>  // coded_columns_of_panel
#include <tokamax/backend/cpu/vector/prefetch.hpp>    // prefetch_to_read

#include <array>  // array

#if defined(__x86_64__)
namespace tokamax::cpu_backend::detail {

  #define TOKAMAX_CODES_TARGET gnu::target("avx512f,avx512vl,avx512bw,avx512dq,f16c,fma,avx2")

/// 16 scales of f32 or f16.
[[TOKAMAX_CODES_TARGET, gnu::always_inline]] inline __m512 scales_avx512(const std::byte* p, std::int64_t at,
                                                                         std::int64_t size) noexcept {
  p += at * size;
  if (size == 4) return _mm512_loadu_ps(p);
  return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

/// So many bytes of codes are asked for in advance. The hardware does that within a page of memory only.
inline constexpr std::int64_t codes_ahead_avx512 = 4096;

/// The numbers that codes of four bits stand for.
template <packed_format F>
inline constexpr auto levels_avx512 = [] {
  std::array<float, 16> level{};
  for (int i = 0; i < 16; ++i)
    level[static_cast<std::size_t>(i)] = F == packed_format::uint_4  ? static_cast<float>(i)
                                         : F == packed_format::int_4 ? static_cast<float>(i > 7 ? i - 16 : i)
                                                                     : tokamax::detail::levels_of(F)[i];
  return level;
}();

/// 16 codes of 8 bits as floats; for those of fp8 see load_float8_e4m3fn.
template <packed_format F>
[[TOKAMAX_CODES_TARGET, gnu::always_inline]] inline __m512 bytes_as_floats_avx512(const __m128i* p) noexcept {
  const __m512i wide = _mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128(p));
  if constexpr (F == packed_format::int_8) {
    return _mm512_maskz_cvtepi32_ps(0xffff, wide);
  } else {
    const __m512i bits = _mm512_maskz_and_epi32(0xffff, _mm512_maskz_slli_epi32(0xffff, wide, 20),
                                                _mm512_set1_epi32(static_cast<int>(0x87f00000u)));
    const __m512i magnitude = _mm512_maskz_and_epi32(0xffff, bits, _mm512_set1_epi32(0x7fffffff));
    const __mmask16 nan = _mm512_cmpeq_epi32_mask(magnitude, _mm512_set1_epi32(0x07f00000));
    const __m512 numbers = _mm512_mul_ps(_mm512_castsi512_ps(bits), _mm512_set1_ps(0x1p120f));
    return _mm512_mask_mov_ps(numbers, nan, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
  }
}

/// Sums of Rows rows of x, which are `stride` apart, over some terms of 64 columns.
template <packed_format F, bool Offset, int Rows>
struct codes_avx512 {
  __m512 sum[Rows][4], scale[4], offset[4], level;
  const float* x;
  std::int64_t stride;

  [[TOKAMAX_CODES_TARGET, gnu::always_inline]] inline void add(std::int64_t k, int v, __m512 code) noexcept {
    const __m512 number = Offset ? _mm512_fmadd_ps(code, scale[v], offset[v]) : _mm512_mul_ps(code, scale[v]);
  #pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) sum[r][v] = _mm512_fmadd_ps(_mm512_set1_ps(x[r * stride + k]), number, sum[r][v]);
  }
  template <int T>
  [[TOKAMAX_CODES_TARGET, gnu::always_inline]] inline void add_term(std::int64_t k, const __m512i (&word)[4]) noexcept {
  #pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)  // a lookup reads the low four bits of a lane alone
      add(k + T, v,
          _mm512_maskz_permutexvar_ps(0xffff, T == 0 ? word[v] : _mm512_maskz_srli_epi32(0xffff, word[v], 4 * T),
                                      level));
  }
  // The first `count` of the eight terms of a word.
  [[TOKAMAX_CODES_TARGET, gnu::always_inline]] inline void add_word(std::int64_t k, const std::uint32_t* words,
                                                                    std::int64_t count) noexcept {
    __m512i word[4];
  #pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      word[v] = _mm512_loadu_si512(words + 16 * v);
      prefetch_to_read(address_behind(words + 16 * v, codes_ahead_avx512));
    }
    add_term<0>(k, word);
    if (count > 1) add_term<1>(k, word);
    if (count > 2) add_term<2>(k, word);
    if (count > 3) add_term<3>(k, word);
    if (count > 4) add_term<4>(k, word);
    if (count > 5) add_term<5>(k, word);
    if (count > 6) add_term<6>(k, word);
    if (count > 7) add_term<7>(k, word);
  }
  [[TOKAMAX_CODES_TARGET, gnu::always_inline]] inline void add_group(const coded_columns_of_panel& from, std::int64_t k,
                                                                     std::int64_t stop) noexcept {
    if constexpr (tokamax::detail::bits_of(F) == 8) {
      for (; k < stop; ++k) {
        const auto* const p = reinterpret_cast<const __m128i*>(from.bytes + k * coded_columns);
        prefetch_to_read(address_behind(p, codes_ahead_avx512));
  #pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) add(k, v, bytes_as_floats_avx512<F>(p + v));
      }
    } else {
      const std::uint32_t* words = from.words + k / 8 * coded_columns;
      for (; k + 8 <= stop; k += 8, words += coded_columns) add_word(k, words, 8);
      if (k < stop) add_word(k, words, stop - k);
    }
  }
};

/// Adds terms [first, end) of Rows rows of x [Rows, stride] to the sums [Rows, 64] of a panel; the bits are those of
/// `each_coded_term`, term by term.
template <packed_format F, bool Offset, int Rows>
[[TOKAMAX_CODES_TARGET]] void add_codes_avx512(const coded_columns_of_panel& from, const float* x, std::int64_t stride,
                                               std::int64_t first, std::int64_t end, float* sums) noexcept {
  codes_avx512<F, Offset, Rows> s;
  s.x = x, s.stride = stride;
  if constexpr (tokamax::detail::bits_of(F) == 4) s.level = _mm512_loadu_ps(levels_avx512<F>.data());
  #pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
  #pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) s.sum[r][v] = _mm512_loadu_ps(sums + r * coded_columns + 16 * v);
  std::int64_t group = first / from.group;
  for (std::int64_t k = first; k < end; ++group) {
    const std::int64_t stop = std::min(end, (group + 1) * from.group);
  #pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      s.scale[v] = scales_avx512(from.scale, group * coded_columns + 16 * v, from.size);
      if constexpr (Offset) s.offset[v] = scales_avx512(from.offset, group * coded_columns + 16 * v, from.size);
    }
    s.add_group(from, k, stop);
    k = stop;
  }
  #pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
  #pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) _mm512_storeu_ps(sums + r * coded_columns + 16 * v, s.sum[r][v]);
}

  #undef TOKAMAX_CODES_TARGET
}  // namespace tokamax::cpu_backend::detail
#endif
