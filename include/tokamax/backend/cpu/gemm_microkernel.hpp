// tokamax/backend/cpu/gemm_microkernel.hpp: register tiles of C += A B for AVX-512, AVX2 and any other machine.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (kernels include it, and are compiled once)
// tested by tests/backend/cpu/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm_pack.hpp>  // pack_panel_fn
#include <tokamax/backend/cpu/simd.hpp>       // f32v for the portable tile, the intrinsics for the others

#include <cstdint>  // int64_t

namespace tokamax::simd {

/// What a tile does with the old C: nothing, add to it in one rounding, or go on summing where it stopped. `stream` is
/// assign past the caches, where the machine can: rows of C begin on 64 bytes, and a fence must follow.
enum class tile_mode { assign, add, resume, stream };

/// One register tile, summed over k packed steps in order, with one rounding per term (fma where the machine has it):
///
///   c[r * ldc + j] (+)= sum_p a[p * a_step + r] * b[p * b_step + j],  r < Rows, j < columns
///
/// A packed step is one f32 or, in tiles for bfloat16, a pair of them. Reads b only for j < columns. The bits do not depend on the tile's place or height, and are the same with AVX2 and
/// AVX-512; resuming gives the bits of one longer sum.
using gemm_tile_fn = void (*)(std::int64_t k, const float* a, std::int64_t a_step, const float* b, std::int64_t b_step,
                              float* c, std::int64_t ldc, std::int64_t columns, tile_mode mode) noexcept;

/// Other threads see what this one has streamed before.
inline void wait_for_streams() noexcept {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

inline constexpr int gemm_max_rows = 32;

/// What one machine offers: the tiles by height, and how to fill their panels.
struct gemm_kernels {
  int terms;                             ///< of k in a packed step of 4 bytes
  bool direct;                           ///< may tiles read operands that are not packed?
  int rows;                              ///< height of the packed panels of A
  int columns;                           ///< width of the packed panels of B
  int unit = 1;                          ///< packed steps come in multiples of this; zeros fill up
  int block = 384;                       ///< about so many terms are summed before they are added to C
  int pack_rows = 10;                    ///< rows of a tile that cost as much as packing its B
  bool prefetch = true;                  ///< may tiles wait for memory beside what they compute?
  gemm_tile_fn tile[gemm_max_rows + 1];  ///< by number of rows, [1, rows]; up to `columns` columns
  gemm_tile_fn wide[gemm_max_rows + 1];  ///< the same for few rows and more columns, for an unpacked B
  int wide_columns[gemm_max_rows + 1];   ///< how many
  pack_panel_fn pack;
  pack_bfloat16_fn pack_bfloat16;              ///< the same from operands in bfloat16
  pack_panel_fn pack_a = nullptr;              ///< panels of A, where they are laid out otherwise
  pack_bfloat16_fn pack_a_bfloat16 = nullptr;  ///< the same from operands in bfloat16
  void (*begin)() noexcept = nullptr;          ///< before a thread computes tiles
  void (*end)() noexcept = nullptr;            ///< after
};

/// While it lives, its thread may compute tiles.
class tile_scope {
 public:
  explicit tile_scope(const gemm_kernels& kernels) noexcept : kernels_(kernels) {
    if (kernels_.begin != nullptr) kernels_.begin();
  }
  ~tile_scope() {
    if (kernels_.end != nullptr) kernels_.end();
  }
  tile_scope(const tile_scope&) = delete;

 private:
  const gemm_kernels& kernels_;
};

#if defined(__x86_64__)
namespace detail {

/// What a tile adds in one packed step. The tiles are compiled for machines with both, and use one of them.
struct f32_term {
  [[gnu::target("avx512f,avx512bf16"), gnu::always_inline]] static inline __m512 add(__m512 sum, __m512 row,
                                                                                     __m512 column) noexcept {
    return _mm512_fmadd_ps(row, column, sum);
  }
};
struct bfloat16_pair {
  [[gnu::target("avx512f,avx512bf16"), gnu::always_inline]] static inline __m512 add(__m512 sum, __m512 row,
                                                                                     __m512 column) noexcept {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(row), reinterpret_cast<__m512bh>(column));
  }
};

// Whole tiles load without a mask: some machines split masked loads.
template <int Rows, int Vectors, bool Whole, class Term>
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,fma,avx2")]] void tile_avx512_of(
    std::int64_t k, const float* a, std::int64_t a_step, const float* b, std::int64_t b_step, float* c,
    std::int64_t ldc, [[maybe_unused]] std::int64_t columns, tile_mode mode) noexcept {
  [[maybe_unused]] __mmask16 kept[Vectors];
  __m512 sum[Rows][Vectors];
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
    __builtin_prefetch(c + r * ldc, 1);
    if constexpr (Vectors > 1) __builtin_prefetch(c + r * ldc + 16, 1);
  }
  if (mode == tile_mode::resume) {
  #pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 24
      for (int v = 0; v < Vectors; ++v) {
        if constexpr (Whole) sum[r][v] = _mm512_loadu_ps(c + r * ldc + 16 * v);
        if constexpr (!Whole) sum[r][v] = _mm512_maskz_loadu_ps(kept[v], c + r * ldc + 16 * v);
      }
    }
  }
  for (std::int64_t p = 0; p < k; ++p) {
    __m512 column[Vectors];
  #pragma GCC unroll 24
    for (int v = 0; v < Vectors; ++v) {
      if constexpr (Whole) column[v] = _mm512_loadu_ps(b + 16 * v);
      if constexpr (!Whole) column[v] = _mm512_maskz_loadu_ps(kept[v], b + 16 * v);
    }
  #pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const __m512 row = _mm512_set1_ps(a[r]);
  #pragma GCC unroll 24
      for (int v = 0; v < Vectors; ++v) sum[r][v] = Term::add(sum[r][v], row, column[v]);
    }
    a += a_step;
    b += b_step;
  }
  #pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 24
    for (int v = 0; v < Vectors; ++v) {
      float* const to = c + r * ldc + 16 * v;
      if constexpr (Whole) {
        if (mode == tile_mode::add) sum[r][v] = _mm512_add_ps(_mm512_loadu_ps(to), sum[r][v]);
        if (mode == tile_mode::stream)
          _mm512_stream_ps(to, sum[r][v]);
        else
          _mm512_storeu_ps(to, sum[r][v]);
      } else {
        if (mode == tile_mode::add) sum[r][v] = _mm512_add_ps(_mm512_maskz_loadu_ps(kept[v], to), sum[r][v]);
        _mm512_mask_storeu_ps(to, kept[v], sum[r][v]);
      }
    }
  }
}

template <int Rows, int Vectors, class Term = f32_term>
void tile_avx512(std::int64_t k, const float* a, std::int64_t a_step, const float* b, std::int64_t b_step, float* c,
                 std::int64_t ldc, std::int64_t columns, tile_mode mode) noexcept {
  if (columns == 16 * Vectors) {
    tile_avx512_of<Rows, Vectors, true, Term>(k, a, a_step, b, b_step, c, ldc, columns, mode);
  } else {
    tile_avx512_of<Rows, Vectors, false, Term>(k, a, a_step, b, b_step, c, ldc, columns, mode);
  }
}

template <int Rows, int Vectors>
[[gnu::target("avx2,fma")]] void tile_avx2(std::int64_t k, const float* a, std::int64_t a_step, const float* b,
                                           std::int64_t b_step, float* c, std::int64_t ldc, std::int64_t columns,
                                           tile_mode mode) noexcept {
  __m256 sum[Rows][Vectors];
  #pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
    for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_setzero_ps();
    __builtin_prefetch(c + r * ldc, 1);
  }
  if (columns == 8 * Vectors) {
    if (mode == tile_mode::resume) {
  #pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
        for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_loadu_ps(c + r * ldc + 8 * v);
      }
    }
    for (std::int64_t p = 0; p < k; ++p) {
      __m256 column[Vectors];
  #pragma GCC unroll 12
      for (int v = 0; v < Vectors; ++v) column[v] = _mm256_loadu_ps(b + 8 * v);
  #pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const __m256 row = _mm256_broadcast_ss(a + r);
  #pragma GCC unroll 12
        for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_fmadd_ps(row, column[v], sum[r][v]);
      }
      a += a_step;
      b += b_step;
    }
  #pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
      for (int v = 0; v < Vectors; ++v) {
        float* const to = c + r * ldc + 8 * v;
        if (mode == tile_mode::add) sum[r][v] = _mm256_add_ps(_mm256_loadu_ps(to), sum[r][v]);
        _mm256_storeu_ps(to, sum[r][v]);
      }
    }
    return;
  }
  __m256i kept[Vectors];
  for (int v = 0; v < Vectors; ++v) {
    kept[v] = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(columns) - 8 * v),
                                 _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  if (mode == tile_mode::resume) {
  #pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
      for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm256_maskload_ps(c + r * ldc + 8 * v, kept[v]);
    }
  }
  for (std::int64_t p = 0; p < k; ++p) {
  #pragma GCC unroll 12
    for (int v = 0; v < Vectors; ++v) {
      const __m256 column = _mm256_maskload_ps(b + 8 * v, kept[v]);
  #pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) sum[r][v] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + r), column, sum[r][v]);
    }
    a += a_step;
    b += b_step;
  }
  alignas(32) float lanes[8 * Vectors];
  #pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 12
    for (int v = 0; v < Vectors; ++v) _mm256_store_ps(lanes + 8 * v, sum[r][v]);
    float* const to = c + r * ldc;
    for (std::int64_t j = 0; j < columns; ++j) to[j] = mode == tile_mode::add ? to[j] + lanes[j] : lanes[j];
  }
}

inline constexpr gemm_kernels gemm_avx512 = {
    .terms = 1,
    .direct = true,
    .rows = 14,
    .columns = 32,
    .tile = {nullptr, tile_avx512<1, 2>, tile_avx512<2, 2>, tile_avx512<3, 2>, tile_avx512<4, 2>, tile_avx512<5, 2>,
             tile_avx512<6, 2>, tile_avx512<7, 2>, tile_avx512<8, 2>, tile_avx512<9, 2>, tile_avx512<10, 2>,
             tile_avx512<11, 2>, tile_avx512<12, 2>, tile_avx512<13, 2>, tile_avx512<14, 2>},
    .wide = {nullptr, tile_avx512<1, 8>, tile_avx512<2, 8>, tile_avx512<3, 6>, tile_avx512<4, 5>, tile_avx512<5, 4>,
             tile_avx512<6, 4>, tile_avx512<7, 3>, tile_avx512<8, 3>, tile_avx512<9, 2>, tile_avx512<10, 2>,
             tile_avx512<11, 2>, tile_avx512<12, 2>, tile_avx512<13, 2>, tile_avx512<14, 2>},
    .wide_columns = {0, 128, 128, 96, 80, 64, 64, 48, 48, 32, 32, 32, 32, 32, 32},
    .pack = pack_panel_avx2,
    .pack_bfloat16 = pack_bfloat16_widened,
};

inline constexpr gemm_kernels gemm_avx2 = {
    .terms = 1,
    .direct = true,
    .rows = 6,
    .columns = 16,
    .tile = {nullptr, tile_avx2<1, 2>, tile_avx2<2, 2>, tile_avx2<3, 2>, tile_avx2<4, 2>, tile_avx2<5, 2>,
             tile_avx2<6, 2>},
    .wide = {nullptr, tile_avx2<1, 8>, tile_avx2<2, 4>, tile_avx2<3, 3>, tile_avx2<4, 2>, tile_avx2<5, 2>,
             tile_avx2<6, 2>},
    .wide_columns = {0, 64, 32, 24, 16, 16, 16},
    .pack = pack_panel_avx2,
    .pack_bfloat16 = pack_bfloat16_widened,
};
}  // namespace detail
#endif

namespace detail {
// A template on the architecture, so that files built for different machines keep their own copy.
template <int Rows, int Vectors, class V = f32v>
void tile_portable(std::int64_t k, const float* a, std::int64_t a_step, const float* b, std::int64_t b_step, float* c,
                   std::int64_t ldc, std::int64_t columns, tile_mode mode) noexcept {
  constexpr auto lanes_per_vector = static_cast<std::int64_t>(V::size);
  V sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[r][v] = V(0.0f);
  }
  alignas(64) float lanes[Vectors * V::size] = {};
  const bool whole = columns == Vectors * lanes_per_vector;
  if (mode == tile_mode::resume) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      for (std::int64_t j = 0; j < columns; ++j) lanes[j] = c[r * ldc + j];
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[r][v] = V::load_aligned(lanes + v * lanes_per_vector);
    }
  }
  for (std::int64_t p = 0; p < k; ++p) {
    const float* from = b;
    if (!whole) {
      for (std::int64_t j = 0; j < columns; ++j) lanes[j] = b[j];
      from = lanes;
    }
    V column[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) column[v] = V::load_unaligned(from + v * lanes_per_vector);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const V row(a[r]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[r][v] = xsimd::fma(row, column[v], sum[r][v]);
    }
    a += a_step;
    b += b_step;
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[r][v].store_aligned(lanes + v * lanes_per_vector);
    float* const to = c + r * ldc;
    for (std::int64_t j = 0; j < columns; ++j) to[j] = mode == tile_mode::add ? to[j] + lanes[j] : lanes[j];
  }
}

template <class V = f32v>
inline constexpr gemm_kernels gemm_portable = {
    .terms = 1,
    .direct = true,
    .rows = 6,
    .columns = 2 * static_cast<int>(V::size),
    .tile = {nullptr, tile_portable<1, 2, V>, tile_portable<2, 2, V>, tile_portable<3, 2, V>, tile_portable<4, 2, V>,
             tile_portable<5, 2, V>, tile_portable<6, 2, V>},
    .wide = {nullptr, tile_portable<1, 8, V>, tile_portable<2, 4, V>, tile_portable<3, 2, V>, tile_portable<4, 2, V>,
             tile_portable<5, 2, V>, tile_portable<6, 2, V>},
    .wide_columns = {0, 8 * static_cast<int>(V::size), 4 * static_cast<int>(V::size), 2 * static_cast<int>(V::size),
                     2 * static_cast<int>(V::size), 2 * static_cast<int>(V::size), 2 * static_cast<int>(V::size)},
    .pack = pack_panel_portable,
    .pack_bfloat16 = pack_bfloat16_widened,
};
}  // namespace detail

/// The instruction sets that have tiles of their own.
enum class gemm_machine { portable, avx2, avx512 };

/// Tiles of one instruction set; the caller has checked that the machine has it.
inline const gemm_kernels& gemm_kernels_for(gemm_machine machine) noexcept {
#if defined(__x86_64__)
  if (machine == gemm_machine::avx512) return detail::gemm_avx512;
  if (machine == gemm_machine::avx2) return detail::gemm_avx2;
#endif
  static_cast<void>(machine);
  return detail::gemm_portable<>;
}

/// The best instruction set of this machine, asked once.
inline gemm_machine best_gemm_machine() noexcept {
#if defined(__x86_64__)
  static const gemm_machine best = [] {
    __builtin_cpu_init();
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    if (avx512) return gemm_machine::avx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? gemm_machine::avx2
                                                                           : gemm_machine::portable;
  }();
  return best;
#else
  return gemm_machine::portable;
#endif
}

}  // namespace tokamax::simd
