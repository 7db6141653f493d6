// tokamax/backend/cpu/gemm/isa/avx2_transposed_b.hpp: register tiles that read a transposed B without packing it, for few rows.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/avx2_sums.hpp>  // load_sums, store_sums
#include <tokamax/backend/cpu/gemm/pack/strips.hpp>    // pack_element, transpose_words
#include <tokamax/backend/cpu/vector/prefetch.hpp>     // prefetch_to_read

#include <algorithm>  // min
#include <cstddef>    // byte
#include <cstdint>    // int64_t
#include <cstring>    // memcpy

#if defined(__x86_64__)
namespace tokamax::cpu_backend::detail {

/// Loads 8 words of a column. If the column has fewer, zeros follow.
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256 words_of_column(const std::byte* from,
                                                                              std::int64_t bytes) noexcept {
  if (bytes >= 32) return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  alignas(32) float words[8] = {};
  std::memcpy(words, from, static_cast<std::size_t>(bytes));
  return _mm256_load_ps(words);
}

// Columns of a transposed B are contiguous along k. Packing them costs as much as multiplying them by about ten rows, so few
// rows read them where they lie. The bits are those of the other tiles: a sum for each element, in the order of k.

/// A tile of microkernel_set::transposed_b, of Rows x 8 sums. 8 words of its 8 columns at a time are transposed in registers:
/// afterwards a register has one word of each column, and is multiplied by one term of each row. A word is a term or, in
/// bfloat16, two, as the panels of A have them. Six rows have 6 sums beside the 8 words, which leaves two registers for
/// the term and for the half of a pair. The hardware follows 8 streams, and would not follow more.
template <int Rows, pack_source S, bool Whole>
[[gnu::target("avx2,fma")]] void transposed_b_tile_of(const tile_call& call) noexcept {
  auto [terms, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  constexpr int in_word = S == pack_source::bfloat16 ? 2 : 1;
  constexpr std::int64_t bytes = sizeof(pack_element<S>);
  const std::int64_t row_step = in_word == 2 ? 1 : a_row, term_step = a_step / in_word;
  const std::int64_t next_tile = transposed_b_columns * b_step * bytes;
  __m256 sum[Rows][1];
  load_sums(sum, c, ldc, columns, mode);
  for (std::int64_t p = 0; p < terms; p += 8 * in_word) {
    const std::int64_t left = terms - p;
    __m256 word[8];
  #pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      const std::int64_t column =
          Whole ? i : std::min<std::int64_t>(i, columns - 1);  // the last stands for those behind
      const std::byte* const from = reinterpret_cast<const std::byte*>(b) + (column * b_step + p) * bytes;
      word[i] = words_of_column(from, left * bytes);
      if (p % (64 / bytes) == 0) prefetch_to_read(address_behind(from, next_tile));  // once for each line
    }
    transpose_words(word);
  #pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      if (i * in_word >= left) break;
  #pragma GCC unroll 2
      for (int t = 0; t < in_word; ++t) {
        __m256 terms_of_columns = word[i];
        if constexpr (in_word == 2) {
          const __m256i pair = _mm256_castps_si256(word[i]);
          terms_of_columns =
              _mm256_castsi256_ps(t == 0 ? _mm256_slli_epi32(pair, 16)
                                         : _mm256_and_si256(pair, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
        }
        const float* const row = a + (p + i * in_word + t) * term_step;
  #pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
          sum[r][0] = _mm256_fmadd_ps(_mm256_broadcast_ss(row + r * row_step), terms_of_columns, sum[r][0]);
      }
    }
  }
  store_sums<false>(sum, c, ldc, columns, mode);
}

/// The tile for `columns` of C.
template <int Rows, pack_source S>
void transposed_b_tile(const tile_call& call) noexcept {
  const auto tile =
      call.columns == transposed_b_columns ? transposed_b_tile_of<Rows, S, true> : transposed_b_tile_of<Rows, S, false>;
  tile(call);
}

}  // namespace tokamax::cpu_backend::detail
#endif
