// tokamax/backend/cpu/gemm/isa/portable_int8.hpp: register tiles of int8 products for any machine.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/int8.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/portable.hpp>  // gemm_portable

#include <cstdint>  // int8_t, int32_t
#include <cstring>  // memcpy
#include <utility>  // index_sequence

namespace tokamax::cpu_backend::detail {

/// Panels of f32 with the values of int8.
inline void pack_int8_widened(const pack_call<std::int8_t>& call) noexcept {
  auto [packed, lanes_padded, lanes, steps, source, lane_stride, step_stride] = call;
  for (std::int64_t p = 0; p < steps; ++p)
    for (std::int64_t l = 0; l < lanes_padded; ++l)
      packed[p * lanes_padded + l] = l < lanes ? static_cast<float>(source[l * lane_stride + p * step_stride]) : 0.0f;
}

/// A tile of f32 whose sums are whole numbers, exact up to 2^24: of 1024 products at most.
template <gemm_tile_fn Tile, int Rows, int Columns>
void whole_tile(const tile_call& call) noexcept {
  alignas(64) float sums[Rows * Columns];
  tile_call whole = call;
  whole.c = sums;
  whole.ldc = Columns;
  whole.mode = tile_mode::assign;
  Tile(whole);
  const bool adds = call.mode == tile_mode::add || call.mode == tile_mode::resume;
  for (int r = 0; r < Rows; ++r)
    for (std::int64_t j = 0; j < call.columns; ++j) {
      float* const at = call.c + r * call.ldc + j;
      std::uint32_t old = 0;
      if (adds) std::memcpy(&old, at, sizeof old);
      old += static_cast<std::uint32_t>(static_cast<std::int32_t>(sums[r * Columns + j]));
      std::memcpy(at, &old, sizeof old);
    }
}

/// The portable kernels of f32 for int8.
template <class V = f32v>
inline constexpr microkernel_set gemm_portable_int8 = [] {
  constexpr const microkernel_set& f32 = gemm_portable<V>;
  microkernel_set k{.terms = 1,
                    .a_in_place = false,
                    .b_in_place = false,
                    .rows = f32.rows,
                    .columns = f32.columns,
                    .k_block = 1024,
                    .tile = {},
                    .wide = {},
                    .wide_columns = {},
                    .pack = nullptr,
                    .pack_bfloat16 = nullptr,
                    .pack_int8 = pack_int8_widened,
                    .integer = true};
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    ((k.tile[Index + 1] = whole_tile<f32.tile[Index + 1], static_cast<int>(Index) + 1, f32.columns>), ...);
  }(std::make_index_sequence<static_cast<std::size_t>(f32.rows)>());
  return k;
}();

}  // namespace tokamax::cpu_backend::detail
