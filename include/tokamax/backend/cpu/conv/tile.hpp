// tokamax/backend/cpu/conv/tile.hpp: register tiles of a convolution, which read the image without copying it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/kernels/conv.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/dispatch.hpp>    // best_gemm_machine
#include <tokamax/backend/cpu/vector/prefetch.hpp>  // prefetch_to_write

#include <cstdint>  // int64_t
#include <utility>  // integer_sequence

namespace tokamax::cpu_backend {

/// The elements that a tile of a convolution reads: runs of `steps` elements, which are the same for each of its places.
/// Places are `row` elements apart.
struct conv_runs {
  const std::int64_t* at;  ///< the beginning of each run, counted from the start of the first place
  std::int64_t count, steps;
  std::int64_t row;
};

/// Places r and output features j:
///
///   c[r * ldc + j] (+)= sum_q sum_p a[at[q] + r * row + p] * b[(q * steps + p) * wide + j]
///
/// b has `wide` columns, as many as a full tile, and c has `columns` of them. The sum is taken in the order of q and p, with
/// one rounding for each term whatever the height of the tile, and is added to c with one more rounding.
using conv_tile_fn = void (*)(const conv_runs& runs, const float* a, const float* b, float* c, std::int64_t ldc,
                              std::int64_t columns, bool add) noexcept;

inline constexpr int conv_max_rows = 14;

/// The tiles of one machine.
struct conv_kernels {
  int rows;                                 ///< of the highest tile
  int lanes;                                ///< columns of a vector
  conv_tile_fn tile[2][conv_max_rows + 1];  ///< of one and of two vectors, by height
};

#if defined(__x86_64__)
namespace detail {
template <int Rows, int Vectors>
[[gnu::target("avx512f")]] void conv_tile_avx512(const conv_runs& runs, const float* a, const float* b, float* c,
                                                 std::int64_t ldc, std::int64_t columns, bool add) noexcept {
  __m512 sum[Rows][Vectors];
  #pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
  #pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm512_setzero_ps();
    prefetch_to_write(c + r * ldc);
  }
  const std::int64_t row = runs.row, steps = runs.steps;
  for (std::int64_t q = 0; q < runs.count; ++q) {
    // Three pointers, with the multiples that an address can contain, reach all rows. So not every row needs a register.
    const float* const first = a + runs.at[q];
    const float* const from[3] = {first, first + 5 * row, first + 10 * row};
    for (std::int64_t p = 0; p < steps; ++p) {
      __m512 column[Vectors];
  #pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) column[v] = _mm512_loadu_ps(b + 16 * v);
  #pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const __m512 x = _mm512_set1_ps(from[r / 5][p + r % 5 * row]);
  #pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm512_fmadd_ps(x, column[v], sum[r][v]);
      }
      b += 16 * Vectors;
    }
  }
  #pragma GCC unroll 2
  for (int v = 0; v < Vectors; ++v) {
    const std::int64_t lanes = columns - 16 * v;
    const auto kept = static_cast<__mmask16>(lanes >= 16 ? 0xffffu : lanes <= 0 ? 0u : (1u << lanes) - 1u);
  #pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      float* const to = c + r * ldc + 16 * v;
      if (add) sum[r][v] = _mm512_add_ps(_mm512_maskz_loadu_ps(kept, to), sum[r][v]);
      _mm512_mask_storeu_ps(to, kept, sum[r][v]);
    }
  }
}
}  // namespace detail
#endif

namespace detail {
// A template on the architecture, so that files that are built for different machines have their own copies.
template <int Rows, int Vectors, class V = f32v>
void conv_tile_portable(const conv_runs& runs, const float* a, const float* b, float* c, std::int64_t ldc,
                        std::int64_t columns, bool add) noexcept {
  constexpr auto lanes = static_cast<std::int64_t>(V::size);
  V sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sum[r][v] = V(0.0f);
  }
  for (std::int64_t q = 0; q < runs.count; ++q) {
    const float* const first = a + runs.at[q];
    const float* const from[2] = {first, first + 3 * runs.row};
    for (std::int64_t p = 0; p < runs.steps; ++p) {
      V column[Vectors];
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) column[v] = V::load_unaligned(b + lanes * v);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const V x(from[r / 3][p + r % 3 * runs.row]);
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) sum[r][v] = fma(x, column[v], sum[r][v]);
      }
      b += lanes * Vectors;
    }
  }
  alignas(64) float row[Vectors * V::size];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sum[r][v].store_aligned(row + lanes * v);
    float* const to = c + r * ldc;
    if (columns == lanes * Vectors) {
      for (std::int64_t j = 0; j < lanes * Vectors; ++j) to[j] = add ? to[j] + row[j] : row[j];
    } else {
      for (std::int64_t j = 0; j < columns; ++j) to[j] = add ? to[j] + row[j] : row[j];
    }
  }
}

#if defined(__x86_64__)
template <int Vectors, int... Rows>
constexpr void list_avx512(conv_tile_fn (&to)[conv_max_rows + 1], std::integer_sequence<int, Rows...>) {
  ((to[Rows + 1] = conv_tile_avx512<Rows + 1, Vectors>), ...);
}
inline constexpr conv_kernels conv_avx512 = [] {
  conv_kernels k{conv_max_rows, 16, {}};
  list_avx512<1>(k.tile[0], std::make_integer_sequence<int, conv_max_rows>{});
  list_avx512<2>(k.tile[1], std::make_integer_sequence<int, conv_max_rows>{});
  return k;
}();
#endif

template <class V = f32v>
inline constexpr conv_kernels conv_portable = {
    6,
    static_cast<int>(V::size),
    {{nullptr, conv_tile_portable<1, 1, V>, conv_tile_portable<2, 1, V>, conv_tile_portable<3, 1, V>,
      conv_tile_portable<4, 1, V>, conv_tile_portable<5, 1, V>, conv_tile_portable<6, 1, V>},
     {nullptr, conv_tile_portable<1, 2, V>, conv_tile_portable<2, 2, V>, conv_tile_portable<3, 2, V>,
      conv_tile_portable<4, 2, V>, conv_tile_portable<5, 2, V>, conv_tile_portable<6, 2, V>}}};
}  // namespace detail

/// The tiles of this machine. Without AVX-512 these use the instructions for which the file is compiled.
inline const conv_kernels& best_conv_kernels() noexcept {
#if defined(__x86_64__)
  if (best_gemm_machine() == gemm_machine::avx512) return detail::conv_avx512;
#endif
  return detail::conv_portable<>;
}

}  // namespace tokamax::cpu_backend
