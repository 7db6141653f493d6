// tokamax/backend/cpu/gemm/isa/amx_sets.hpp: the microkernels of the matrix unit of x86-64 (AMX).
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/amx.hpp>             // tile_amx
#include <tokamax/backend/cpu/gemm/isa/amx_split_bf16.hpp>  // gemm_amx_split_bf16
#include <tokamax/backend/cpu/gemm/pack/pairs.hpp>          // pack_pairs
#include <tokamax/backend/cpu/gemm/pack/quads.hpp>          // pack_quads
#include <tokamax/base/compiled_once.hpp>                   // TOKAMAX_BODY

#include <utility>  // index_sequence

#if defined(__x86_64__) && defined(__linux__)
namespace tokamax::cpu_backend::detail {

// The unit has eight tile registers of 16 rows x 64 bytes. Four hold 32 x 32 sums, two hold A and two hold B, so each tile
// that is loaded takes part in two products. One product sums 16 packed steps, which are a `unit`: panels are filled up
// with zeros to whole units. Tiles of A have the steps of a row side by side, as rows in memory do; tiles of B have the
// lanes of a step side by side, so B is always packed. That costs as much as 200 rows of tiles.

/// Products of bfloat16: C is 2 x 2 tiles of 16 x 16 sums of f32. A step multiplies pairs of terms, so panels of A and of B
/// hold pairs. Rows of A that are bfloat16 already are read where they lie. A block of 768 terms of 32 columns of B is
/// 48 KiB, which a first-level cache of these processors holds.
inline constexpr microkernel_set gemm_amx_bfloat16 = [] {
  microkernel_set k{.terms = 2,
                    .a_in_place = true,
                    .b_in_place = false,
                    .rows = 32,
                    .columns = 32,
                    .unit = 16,
                    .k_block = 768,
                    .max_single_k_block = 1024,
                    .pack_rows = 200,
                    .tile = {},
                    .wide = {},
                    .wide_columns = {},
                    .pack = pack_pairs<float>,
                    .pack_bfloat16 = pack_pairs<std::uint16_t>,
                    .pack_a = pack_pairs_by_lane<float>,
                    .pack_a_bfloat16 = pack_pairs_by_lane<std::uint16_t>,
                    .begin = begin_amx,
                    .end = end_amx};
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    ((k.tile[Index + 1] = tile_amx<static_cast<int>(Index) + 1, false>), ...);
  }(std::make_index_sequence<32>());
  return k;
}();

/// Products of int8: the same tiles with sums of i32. A step multiplies four terms, so twice as many terms as in bfloat16
/// are the same bytes.
inline constexpr microkernel_set gemm_amx_int8 = [] {
  microkernel_set k{.terms = 4,
                    .a_in_place = true,
                    .b_in_place = false,
                    .rows = 32,
                    .columns = 32,
                    .unit = 16,
                    .k_block = 1536,
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
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    ((k.tile[Index + 1] = tile_amx<static_cast<int>(Index) + 1, true>), ...);
  }(std::make_index_sequence<32>());
  return k;
}();

/// The set for products of these numbers. Products of f32 split each number into two or three of bfloat16.
TOKAMAX_BODY const microkernel_set& amx_kernels(microkernel_numbers numbers) noexcept {
  switch (numbers) {
    case microkernel_numbers::int8:
      return gemm_amx_int8;
    case microkernel_numbers::split_2:
      return gemm_amx_split_bf16<2>;
    case microkernel_numbers::split_3:
      return gemm_amx_split_bf16<3>;
    default:
      return gemm_amx_bfloat16;
  }
}

}  // namespace tokamax::cpu_backend::detail
#endif
