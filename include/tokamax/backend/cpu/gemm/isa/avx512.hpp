// tokamax/backend/cpu/gemm/isa/avx512.hpp: register tiles of products in AVX-512.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/avx2_transposed_b.hpp>  // transposed_b_tile
#include <tokamax/backend/cpu/gemm/microkernel_set.hpp>        // microkernel_set
#include <tokamax/backend/cpu/vector/prefetch.hpp>             // prefetch_to_read, prefetch_to_write

#if defined(__x86_64__)
namespace tokamax::cpu_backend::detail {

/// The term that a tile adds in one packed step, and the sum of two such sums. The tiles are compiled for machines with all
/// of these instructions, and each tile uses one kind.
struct f32_term {
  static constexpr bool initial_sums = false;
  [[gnu::target("avx512f"), gnu::always_inline]] static inline __m512 combine(__m512 a, __m512 b) noexcept {
    return _mm512_add_ps(a, b);
  }
  [[gnu::target("avx512f,avx512bf16"), gnu::always_inline]] static inline __m512 add(__m512 sum, __m512 row,
                                                                                     __m512 column) noexcept {
    return _mm512_fmadd_ps(row, column, sum);
  }
};
/// Two terms of bfloat16 in each lane. The instruction adds both products to the sum of f32.
struct bfloat16_pair {
  static constexpr bool initial_sums = false;
  [[gnu::target("avx512f"), gnu::always_inline]] static inline __m512 combine(__m512 a, __m512 b) noexcept {
    return _mm512_add_ps(a, b);
  }
  [[gnu::target("avx512f,avx512bf16"), gnu::always_inline]] static inline __m512 add(__m512 sum, __m512 row,
                                                                                     __m512 column) noexcept {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(row), reinterpret_cast<__m512bh>(column));
  }
};
/// The instruction multiplies unsigned by signed bytes, so rows of A hold a + 128. The surplus is subtracted in advance: the
/// sums begin with -128 times the sum of each column of B.
struct int8_quad {
  static constexpr bool initial_sums = true;
  [[gnu::target("avx512f"), gnu::always_inline]] static inline __m512 combine(__m512 a, __m512 b) noexcept {
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
  }
  [[gnu::target("avx512f,avx512vnni"), gnu::always_inline]] static inline __m512 add(__m512 sum, __m512 row,
                                                                                     __m512 column) noexcept {
    return _mm512_castsi512_ps(
        _mm512_dpbusd_epi32(_mm512_castps_si512(sum), _mm512_castps_si512(row), _mm512_castps_si512(column)));
  }
};

/// Writes sums to C, in the lanes that C has. C is added to, or overwritten, or written past the caches.
template <int Rows, int Vectors, bool Whole, class Term>
[[gnu::target("avx512f"), gnu::always_inline]] inline void store_tile(__m512 (&sum)[Rows][Vectors],
                                                                      [[maybe_unused]] const __mmask16* kept, float* c,
                                                                      std::int64_t ldc, tile_mode mode) noexcept {
  #pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 24
    for (int v = 0; v < Vectors; ++v) {
      float* const to = c + r * ldc + 16 * v;
      if constexpr (Whole) {
        if (mode == tile_mode::add) sum[r][v] = Term::combine(_mm512_loadu_ps(to), sum[r][v]);
        if (mode == tile_mode::stream)
          _mm512_stream_ps(to, sum[r][v]);
        else
          _mm512_storeu_ps(to, sum[r][v]);
      } else {
        if (mode == tile_mode::add) sum[r][v] = Term::combine(_mm512_maskz_loadu_ps(kept[v], to), sum[r][v]);
        _mm512_mask_storeu_ps(to, kept[v], sum[r][v]);
      }
    }
  }
}

/// Adds the terms of one step, for rows that are a_row apart.
template <int Rows, int Vectors, bool Whole, class Term>
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,avx512vnni,fma,avx2"), gnu::always_inline]] inline void
add_step(__m512 (&sum)[Rows][Vectors], [[maybe_unused]] const __mmask16* kept, const float* const* third,
         std::int64_t a_row, const float* b, std::int64_t panel) noexcept {
  __m512 column[Vectors];
  #pragma GCC unroll 24
  for (int v = 0; v < Vectors; ++v) {
    const float* const from = b + v / 2 * panel + v % 2 * 16;
    if constexpr (Whole) column[v] = _mm512_loadu_ps(from);
    if constexpr (!Whole) column[v] = _mm512_maskz_loadu_ps(kept[v], from);
  }
  #pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    const __m512 row = _mm512_set1_ps(third[r / 3][r % 3 * a_row]);
  #pragma GCC unroll 24
    for (int v = 0; v < Vectors; ++v) sum[r][v] = Term::add(sum[r][v], row, column[v]);
  }
}

/// Adds the terms of all steps, for rows in panels or for rows whose steps are contiguous.
template <int Rows, int Vectors, bool Whole, class Term, bool InPanels>
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,avx512vnni,fma,avx2"), gnu::always_inline]] inline void
add_steps(__m512 (&sum)[Rows][Vectors], const __mmask16* kept, std::int64_t k, const float* a, std::int64_t a_row,
          std::int64_t a_step, const float* b, std::int64_t b_step, std::int64_t panel) noexcept {
  constexpr std::int64_t together = InPanels ? 1 : 4;
  const float* third[(Rows + 2) / 3];  // every third row; x86-64 can address the two rows behind it from there
  #pragma GCC unroll 8
  for (int r = 0; r < Rows; r += 3) third[r / 3] = a + r * a_row;
  std::int64_t p = 0;
  for (; p + together <= k; p += together) {
    if constexpr (Rows > 8 && InPanels)
      __builtin_prefetch(third[0] + 32 * a_step);  // the hardware does not see that its pieces are one stream
  #pragma GCC unroll 4
    for (std::int64_t u = 0; u < together; ++u) {
      add_step<Rows, Vectors, Whole, Term>(sum, kept, third, a_row, b, panel);
      if constexpr (Rows >= 4 && Vectors >= 3) {  // rows of B where they lie: too far apart for the hardware to see
  #pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) prefetch_to_read(address_behind(b, (12 * b_step + 16 * v) * 4));
      }
  #pragma GCC unroll 8
      for (const float*& row : third) row += a_step;
      b += b_step;
    }
  }
  for (; p < k; ++p) {  // the steps that are left
    add_step<Rows, Vectors, Whole, Term>(sum, kept, third, a_row, b, panel);
    for (const float*& row : third) row += a_step;
    b += b_step;
  }
}

/// A register tile of Rows x 16 Vectors sums. Whole tiles load without a mask, because some machines split masked loads. A
/// tile of two panels reads two packed panels of 32 columns.
template <int Rows, int Vectors, bool Whole, class Term, bool TwoPanels = false>
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,avx512vnni,fma,avx2")]] void tile_avx512_of(
    const tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
  [[maybe_unused]] __mmask16 kept[Vectors] = {};
  __m512 sum[Rows][Vectors];
  const std::int64_t panel =
      TwoPanels ? (k + Term::initial_sums) * b_step : 32;  // distance to the columns of every second vector
  if constexpr (!Whole) {
  #pragma GCC unroll 24
    for (int v = 0; v < Vectors; ++v) {
      const std::int64_t lanes = columns - 16 * v;
      kept[v] = lanes >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>(lanes <= 0 ? 0 : (1u << lanes) - 1u);
    }
  }
  #pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 24
    for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm512_setzero_ps();
    if (mode == tile_mode::stream) continue;
    prefetch_to_write(c + r * ldc);
    if constexpr (Vectors > 1) prefetch_to_write(c + r * ldc + 16);
  }
  if (mode == tile_mode::resume) {  // C holds the sums of the k blocks before this one
  #pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 24
      for (int v = 0; v < Vectors; ++v) {
        if constexpr (Whole) sum[r][v] = _mm512_loadu_ps(c + r * ldc + 16 * v);
        if constexpr (!Whole) sum[r][v] = _mm512_maskz_loadu_ps(kept[v], c + r * ldc + 16 * v);
      }
    }
  }
  if constexpr (Term::initial_sums) {  // the first step of the panel of B is a row of sums, not of terms
  #pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 24
      for (int v = 0; v < Vectors; ++v)
        sum[r][v] = Term::combine(sum[r][v], _mm512_loadu_ps(b + v / 2 * panel + v % 2 * 16));
    }
    b += b_step;
  }
  if (a_row == 1)
    add_steps<Rows, Vectors, Whole, Term, true>(sum, kept, k, a, 1, a_step, b, b_step, panel);
  else
    add_steps<Rows, Vectors, Whole, Term, false>(sum, kept, k, a, a_row, 1, b, b_step, panel);
  store_tile<Rows, Vectors, Whole, Term>(sum, kept, c, ldc, mode);
}

/// The tile for `columns` of C: without masks if all its vectors are whole.
template <int Rows, int Vectors, class Term = f32_term>
void tile_avx512(const tile_call& call) noexcept {
  if (call.columns == 16 * Vectors) {
    tile_avx512_of<Rows, Vectors, true, Term>(call);
  } else {
    tile_avx512_of<Rows, Vectors, false, Term>(call);
  }
}

// Two panels at a time give more sums, which hide more of the latency of each.
template <int Rows, class Term>
constexpr gemm_tile_fn two_panel_tile = tile_avx512_of<Rows, 4, true, Term, true>;

/// Products of f32. 14 x 32 sums fill 28 of the 32 registers; two hold a row of B and one an element of A. Few rows take
/// wider tiles, so that there are enough independent sums to hide the latency of each.
inline constexpr microkernel_set gemm_avx512 = {
    .terms = 1,
    .a_in_place = true,
    .b_in_place = true,
    .rows = 14,
    .columns = 32,
    .tile = {nullptr, tile_avx512<1, 2>, tile_avx512<2, 2>, tile_avx512<3, 2>, tile_avx512<4, 2>, tile_avx512<5, 2>,
             tile_avx512<6, 2>, tile_avx512<7, 2>, tile_avx512<8, 2>, tile_avx512<9, 2>, tile_avx512<10, 2>,
             tile_avx512<11, 2>, tile_avx512<12, 2>, tile_avx512<13, 2>, tile_avx512<14, 2>},
    .wide = {nullptr, tile_avx512<1, 8>, tile_avx512<2, 8>, tile_avx512<3, 6>, tile_avx512<4, 5>, tile_avx512<5, 4>,
             tile_avx512<6, 4>, tile_avx512<7, 3>, tile_avx512<8, 3>, tile_avx512<9, 2>, tile_avx512<10, 2>,
             tile_avx512<11, 2>, tile_avx512<12, 2>, tile_avx512<13, 2>, tile_avx512<14, 2>},
    .wide_columns = {0, 128, 128, 96, 80, 64, 64, 48, 48, 32, 32, 32, 32, 32, 32},
    .transposed_b = {nullptr, transposed_b_tile<1, pack_source::f32>, transposed_b_tile<2, pack_source::f32>,
                     transposed_b_tile<3, pack_source::f32>, transposed_b_tile<4, pack_source::f32>,
                     transposed_b_tile<5, pack_source::f32>, transposed_b_tile<6, pack_source::f32>},
    .two_panel = {nullptr, two_panel_tile<1, f32_term>, two_panel_tile<2, f32_term>},
    .pack = pack_avx2<pack_source::f32>,
    .pack_bfloat16 = pack_avx2<pack_source::bfloat16>,
};

}  // namespace tokamax::cpu_backend::detail
#endif
