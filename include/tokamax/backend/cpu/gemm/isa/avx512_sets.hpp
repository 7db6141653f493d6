// tokamax/backend/cpu/gemm/isa/avx512_sets.hpp: the microkernels of AVX-512.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/avx512.hpp>  // gemm_avx512
#include <tokamax/backend/cpu/gemm/pack/pairs.hpp>  // pack_pairs
#include <tokamax/backend/cpu/gemm/pack/quads.hpp>  // pack_quads
#include <tokamax/base/compiled_once.hpp>           // TOKAMAX_BODY

#include <utility>  // index_sequence

#if defined(__x86_64__)
namespace tokamax::cpu_backend::detail {

/// Products of f32 numbers that are rounded to bfloat16 while they are packed, for machines without bfloat16 instructions.
inline constexpr microkernel_set gemm_avx512_rounding = rounding(gemm_avx512, pack_avx2<pack_source::rounded>);

template <int Rows>
inline constexpr gemm_tile_fn pair_tile = tile_avx512<Rows, 2, bfloat16_pair>;

/// Products of bfloat16: a step multiplies pairs of terms and adds them to sums of f32.
inline constexpr microkernel_set gemm_avx512_bfloat16 = {
    .terms = 2,
    .a_in_place = true,
    .b_in_place = false,
    .rows = 14,
    .columns = 32,
    .k_block = 1024,
    .tile = {nullptr, pair_tile<1>, pair_tile<2>, pair_tile<3>, pair_tile<4>, pair_tile<5>, pair_tile<6>, pair_tile<7>,
             pair_tile<8>, pair_tile<9>, pair_tile<10>, pair_tile<11>, pair_tile<12>, pair_tile<13>, pair_tile<14>},
    .wide = {},
    .wide_columns = {},
    .two_panel = {nullptr, two_panel_tile<1, bfloat16_pair>, two_panel_tile<2, bfloat16_pair>},
    .pack = pack_pairs<float>,
    .pack_bfloat16 = pack_pairs<std::uint16_t>,
};

/// Products of int8: a step multiplies four terms and adds them to sums of i32. Rows of A are packed as unsigned bytes (see
/// `int8_quad`), and panels of B begin with the sums that make up for it.
inline constexpr microkernel_set gemm_avx512_int8 = [] {
  microkernel_set k{.terms = 4,
                    .a_in_place = false,
                    .b_in_place = false,
                    .rows = 14,
                    .columns = 32,
                    .k_block = 1536,
                    .tile = {},
                    .wide = {},
                    .wide_columns = {},
                    .two_panel = {nullptr, two_panel_tile<1, int8_quad>, two_panel_tile<2, int8_quad>},
                    .pack = nullptr,
                    .pack_bfloat16 = nullptr,
                    .pack_int8 = pack_quads<quad_layout::columns>,
                    .pack_a_int8 = pack_quads<quad_layout::unsigned_rows>,
                    .integer = true,
                    .initial_sums = 1,
                    .fill_initial_sums = fill_quad_initial_sums};
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    ((k.tile[Index + 1] = tile_avx512<static_cast<int>(Index) + 1, 2, int8_quad>), ...);
  }(std::make_index_sequence<14>());
  return k;
}();

/// The set for products of these numbers; that of f32 for the others.
TOKAMAX_BODY const microkernel_set& avx512_kernels(microkernel_numbers numbers) noexcept {
  switch (numbers) {
    case microkernel_numbers::rounded:
      return gemm_avx512_rounding;
    case microkernel_numbers::bfloat16:
      return gemm_avx512_bfloat16;
    case microkernel_numbers::int8:
      return gemm_avx512_int8;
    default:
      return gemm_avx512;
  }
}

}  // namespace tokamax::cpu_backend::detail
#endif
