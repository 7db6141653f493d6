// tokamax/backend/cpu/gemm/isa/portable.hpp: register tiles of products for any machine.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/microkernel_set.hpp>  // microkernel_set
#include <tokamax/backend/cpu/vector/simd.hpp>           // f32v

namespace tokamax::cpu_backend::detail {

/// A register tile for any machine: Rows x Vectors sums in vectors of type V. It is a template on V, so that files that are
/// built for different machines have their own copies.
template <int Rows, int Vectors, class V = f32v>
void tile_portable(const tile_call& call) noexcept {
  auto [k, a, a_row, a_step, b, b_step, c, ldc, columns, mode] = call;
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
    if (!whole) {  // no load leaves the row of B
      for (std::int64_t j = 0; j < columns; ++j) lanes[j] = b[j];
      from = lanes;
    }
    V column[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) column[v] = V::load_unaligned(from + v * lanes_per_vector);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const V row(a[r * a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[r][v] = fma(row, column[v], sum[r][v]);
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

/// Products of f32 on any machine. 6 x 2 vectors of sums leave registers for a row of B and an element of A where there are 16.
template <class V = f32v>
inline constexpr microkernel_set gemm_portable = {
    .terms = 1,
    .a_in_place = true,
    .b_in_place = true,
    .rows = 6,
    .columns = 2 * static_cast<int>(V::size),
    .tile = {nullptr, tile_portable<1, 2, V>, tile_portable<2, 2, V>, tile_portable<3, 2, V>, tile_portable<4, 2, V>,
             tile_portable<5, 2, V>, tile_portable<6, 2, V>},
    .wide = {nullptr, tile_portable<1, 8, V>, tile_portable<2, 4, V>, tile_portable<3, 2, V>, tile_portable<4, 2, V>,
             tile_portable<5, 2, V>, tile_portable<6, 2, V>},
    .wide_columns = {0, 8 * static_cast<int>(V::size), 4 * static_cast<int>(V::size), 2 * static_cast<int>(V::size),
                     2 * static_cast<int>(V::size), 2 * static_cast<int>(V::size), 2 * static_cast<int>(V::size)},
    .pack = pack_portable<pack_source::f32>,
    .pack_bfloat16 = pack_portable<pack_source::bfloat16>,
};

}  // namespace tokamax::cpu_backend::detail
