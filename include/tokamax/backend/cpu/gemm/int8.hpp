// tokamax/backend/cpu/gemm/int8.hpp: panels and tiles of products in int8 that are summed in int32.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/int8.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/amx.hpp>        // tile_amx
#include <tokamax/backend/cpu/gemm/isa/avx2_int8.hpp>  // gemm_avx2_int8
#include <tokamax/backend/cpu/gemm/microkernel.hpp>    // gemm_kernels
#include <tokamax/backend/cpu/gemm/pack/quads.hpp>     // pack_quads

#include <cstdint>  // int8_t, int32_t
#include <cstring>  // memcpy
#include <utility>  // index_sequence

namespace tokamax::simd {

namespace detail {

/// Panels of f32 with the values of int8.
inline void pack_int8_widened(float* packed, std::int64_t lanes_padded, std::int64_t lanes, std::int64_t steps,
                              const std::int8_t* source, std::int64_t lane_stride, std::int64_t step_stride) noexcept {
  for (std::int64_t p = 0; p < steps; ++p)
    for (std::int64_t l = 0; l < lanes_padded; ++l)
      packed[p * lanes_padded + l] = l < lanes ? static_cast<float>(source[l * lane_stride + p * step_stride]) : 0.0f;
}

/// A tile of f32 whose sums are whole numbers, exact up to 2^24: of 1024 products at most.
template <gemm_tile_fn Tile, int Rows, int Columns>
void whole_tile(std::int64_t k, const float* a, std::int64_t a_row, std::int64_t a_step, const float* b,
                std::int64_t b_step, float* c, std::int64_t ldc, std::int64_t columns, tile_mode mode) noexcept {
  alignas(64) float sums[Rows * Columns];
  Tile(k, a, a_row, a_step, b, b_step, sums, Columns, columns, tile_mode::assign);
  const bool adds = mode == tile_mode::add || mode == tile_mode::resume;
  for (int r = 0; r < Rows; ++r)
    for (std::int64_t j = 0; j < columns; ++j) {
      std::uint32_t old = 0;
      if (adds) std::memcpy(&old, c + r * ldc + j, sizeof old);
      old += static_cast<std::uint32_t>(static_cast<std::int32_t>(sums[r * Columns + j]));
      std::memcpy(c + r * ldc + j, &old, sizeof old);
    }
}

/// The portable kernels of f32 for int8.
template <class V = f32v>
inline constexpr gemm_kernels gemm_portable_int8 = [] {
  constexpr const gemm_kernels& f32 = gemm_portable<V>;
  gemm_kernels k{.terms = 1,
                 .a_in_place = false,
                 .b_in_place = false,
                 .rows = f32.rows,
                 .columns = f32.columns,
                 .block = 1024,
                 .tile = {},
                 .wide = {},
                 .wide_columns = {},
                 .pack = nullptr,
                 .pack_bfloat16 = nullptr,
                 .pack_int8 = pack_int8_widened,
                 .integer = true};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((k.tile[I + 1] = whole_tile<f32.tile[I + 1], static_cast<int>(I) + 1, f32.columns>), ...);
  }(std::make_index_sequence<static_cast<std::size_t>(f32.rows)>());
  return k;
}();

#if defined(__x86_64__)
inline constexpr gemm_kernels gemm_avx512_int8 = [] {
  gemm_kernels k{.terms = 4,
                 .a_in_place = false,
                 .b_in_place = false,
                 .rows = 14,
                 .columns = 32,
                 .block = 1536,
                 .tile = {},
                 .wide = {},
                 .wide_columns = {},
                 .twin = {nullptr, twin_tile<1, int8_quad>, twin_tile<2, int8_quad>},
                 .pack = nullptr,
                 .pack_bfloat16 = nullptr,
                 .pack_int8 = pack_quads<quad_layout::columns>,
                 .pack_a_int8 = pack_quads<quad_layout::unsigned_rows>,
                 .integer = true,
                 .lead = 1,
                 .fill_lead = fill_quad_lead};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((k.tile[I + 1] = tile_avx512<static_cast<int>(I) + 1, 2, int8_quad>), ...);
  }(std::make_index_sequence<14>());
  return k;
}();

  #if defined(__linux__)
inline constexpr gemm_kernels gemm_amx_int8 = [] {
  gemm_kernels k{.terms = 4,
                 .a_in_place = true,
                 .b_in_place = false,
                 .rows = 32,
                 .columns = 32,
                 .unit = 16,
                 .block = 1536,
                 .pack_rows = 200,
                 .tile = {},
                 .wide = {},
                 .wide_columns = {},
                 .pack = nullptr,
                 .pack_bfloat16 = nullptr,
                 .pack_int8 = pack_quads<quad_layout::columns>,
                 .pack_a_int8 = pack_quads<quad_layout::by_lane>,
                 .integer = true,
                 .begin = begin_amx,
                 .end = end_amx};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((k.tile[I + 1] = tile_amx<static_cast<int>(I) + 1, true>), ...);
  }(std::make_index_sequence<32>());
  return k;
}();
  #endif
#endif
}  // namespace detail

/// What multiplies int8: instructions for 16 bits or, on whole numbers, f32, dot products of quads, or a matrix unit.
enum class int8_unit { none, avx512, amx };

/// The best of this machine, asked once.
inline int8_unit best_int8_unit() noexcept {
#if defined(__x86_64__)
  static const int8_unit best = [] {
    __builtin_cpu_init();
    if (best_gemm_machine() != gemm_machine::avx512 || !__builtin_cpu_supports("avx512vnni")) return int8_unit::none;
  #if defined(__linux__)
    if (detail::has_amx()) return int8_unit::amx;
  #endif
    return int8_unit::avx512;
  }();
  return best;
#else
  return int8_unit::none;
#endif
}

/// Tiles for products of int8; the caller has checked that the machine has the unit.
inline const gemm_kernels& gemm_int8_kernels(gemm_machine machine = best_gemm_machine(),
                                             int8_unit unit = best_int8_unit()) noexcept {
#if defined(__x86_64__)
  if (machine == gemm_machine::avx512) {
  #if defined(__linux__)
    if (unit == int8_unit::amx) return detail::gemm_amx_int8;
  #endif
    if (unit != int8_unit::none) return detail::gemm_avx512_int8;
  }
  if (machine != gemm_machine::portable) return detail::gemm_avx2_int8;
#endif
  static_cast<void>(unit);
  return detail::gemm_portable_int8<>;
}

}  // namespace tokamax::simd
