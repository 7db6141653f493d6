// tokamax/backend/cpu/gemm/bfloat16.hpp: panels and tiles of products in bfloat16 that are summed in f32.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/amx.hpp>             // gemm_amx_bfloat16
#include <tokamax/backend/cpu/gemm/isa/amx_split_bf16.hpp>  // gemm_amx_parts
#include <tokamax/backend/cpu/gemm/isa/avx2_bfloat16.hpp>   // gemm_avx2_bfloat16
#include <tokamax/backend/cpu/gemm/microkernel.hpp>         // gemm_kernels
#include <tokamax/backend/cpu/gemm/pack/pairs.hpp>          // pack_pairs

#include <cstdint>  // int64_t

namespace tokamax::simd {

/// In which numbers operands are multiplied; sums are always f32. x3 and x6 sum three and six products of bfloat16 numbers
/// whose sums the operands are, and are f32 itself where no unit does so faster.
enum class gemm_precision { f32, bfloat16, bfloat16_x3, bfloat16_x6 };

namespace detail {

/// Kernels of f32 whose panels are rounded to bfloat16: the products of machines without bfloat16 instructions.
constexpr gemm_kernels rounding(gemm_kernels k, pack_panel_fn pack) {
  k.a_in_place = k.b_in_place = false;
  k.pack = pack;
  return k;
}

#if defined(__x86_64__)
template <int Rows>
inline constexpr gemm_tile_fn pair_tile = tile_avx512<Rows, 2, bfloat16_pair>;

inline constexpr gemm_kernels gemm_avx512_bfloat16 = {
    .terms = 2,
    .a_in_place = true,
    .b_in_place = false,
    .rows = 14,
    .columns = 32,
    .block = 1024,
    .tile = {nullptr, pair_tile<1>, pair_tile<2>, pair_tile<3>, pair_tile<4>, pair_tile<5>, pair_tile<6>, pair_tile<7>,
             pair_tile<8>, pair_tile<9>, pair_tile<10>, pair_tile<11>, pair_tile<12>, pair_tile<13>, pair_tile<14>},
    .wide = {},
    .wide_columns = {},
    .twin = {nullptr, twin_tile<1, bfloat16_pair>, twin_tile<2, bfloat16_pair>},
    .pack = pack_pairs<float>,
    .pack_bfloat16 = pack_pairs<std::uint16_t>,
};
inline constexpr gemm_kernels gemm_avx512_rounding = rounding(gemm_avx512, pack_avx2<pack_source::rounded>);
inline constexpr gemm_kernels gemm_avx2_rounding = rounding(gemm_avx2, pack_avx2<pack_source::rounded>);
#endif

template <class V = f32v>
inline constexpr gemm_kernels gemm_portable_rounding = rounding(gemm_portable<V>, pack_portable<pack_source::rounded>);
}  // namespace detail

/// What multiplies bfloat16: instructions for f32 on rounded operands, dot products of pairs, or a matrix unit.
enum class bfloat16_unit { none, avx512, amx };

/// The best of this machine, asked once.
inline bfloat16_unit best_bfloat16_unit() noexcept {
#if defined(__x86_64__)
  static const bfloat16_unit best = [] {
    __builtin_cpu_init();
    if (best_gemm_machine() != gemm_machine::avx512 || !__builtin_cpu_supports("avx512bf16"))
      return bfloat16_unit::none;
  #if defined(__linux__)
    if (detail::has_amx()) return bfloat16_unit::amx;
  #endif
    return bfloat16_unit::avx512;
  }();
  return best;
#else
  return bfloat16_unit::none;
#endif
}

/// Tiles for products in `precision`; the caller has checked that the machine has the unit.
inline const gemm_kernels& gemm_kernels_for(gemm_machine machine, gemm_precision precision,
                                            bfloat16_unit unit = best_bfloat16_unit()) noexcept {
  if (precision == gemm_precision::f32) return gemm_kernels_for(machine);
  if (precision != gemm_precision::bfloat16) {
#if defined(__x86_64__) && defined(__linux__)
    if (machine == gemm_machine::avx512 && unit == bfloat16_unit::amx)
      return precision == gemm_precision::bfloat16_x3 ? detail::gemm_amx_parts<2> : detail::gemm_amx_parts<3>;
#endif
    return gemm_kernels_for(machine);
  }
#if defined(__x86_64__)
  if (machine == gemm_machine::avx512) {
  #if defined(__linux__)
    if (unit == bfloat16_unit::amx) return detail::gemm_amx_bfloat16;
  #endif
    return unit == bfloat16_unit::none ? detail::gemm_avx512_rounding : detail::gemm_avx512_bfloat16;
  }
  if (machine == gemm_machine::avx2) return detail::gemm_avx2_bfloat16;
#endif
  static_cast<void>(unit);
  return detail::gemm_portable_rounding<>;
}

}  // namespace tokamax::simd
