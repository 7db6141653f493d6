// tokamax/backend/cpu/gemm/dispatch.hpp: which microkernels multiply on this machine.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/features.hpp>              // features
#include <tokamax/backend/cpu/gemm/microkernel_set.hpp>  // microkernel_set
#include <tokamax/base/compiled_once.hpp>                // TOKAMAX_COMPILES

namespace tokamax::cpu_backend {

/// The number format in which operands are multiplied; sums are always f32. x3 and x6 split operands into sums of bfloat16
/// numbers, and sum three or six of the products. On machines where that is not faster, they compute in f32.
enum class gemm_precision { f32, bfloat16, bfloat16_x3, bfloat16_x6 };

/// The instruction sets that have tiles of their own.
enum class gemm_machine { portable, avx2, avx512 };

/// The best instruction set of this machine.
inline gemm_machine best_gemm_machine() noexcept {
  if (features().avx512) return gemm_machine::avx512;
  return features().x86_64_v3 ? gemm_machine::avx2 : gemm_machine::portable;
}

/// How bfloat16 is multiplied: by instructions for f32 on rounded operands, by dot products of pairs, or by a matrix unit.
enum class bfloat16_unit { none, avx512, amx };

/// The best of this machine.
inline bfloat16_unit best_bfloat16_unit() noexcept {
  if (!features().avx512_bf16) return bfloat16_unit::none;
  return has_amx() ? bfloat16_unit::amx : bfloat16_unit::avx512;
}

/// How int8 is multiplied: by instructions for 16 bits, by those for f32 on integers, by dot products of quads, or by a
/// matrix unit.
enum class int8_unit { none, avx512, amx };

/// The best of this machine.
inline int8_unit best_int8_unit() noexcept {
  if (!features().avx512_vnni) return int8_unit::none;
  return has_amx() ? int8_unit::amx : int8_unit::avx512;
}

/// Tiles of one instruction set; the caller has checked that the machine has it.
inline const microkernel_set& microkernels_for(gemm_machine machine,
                                               microkernel_numbers numbers = microkernel_numbers::f32) noexcept {
#if defined(__x86_64__)
  if (machine == gemm_machine::avx512) return detail::avx512_kernels(numbers);
  if (machine == gemm_machine::avx2) return detail::avx2_kernels(numbers);
#endif
  static_cast<void>(machine);
  return detail::portable_kernels(numbers);
}

/// Tiles for products in `precision`; the caller has checked that the machine has the unit.
inline const microkernel_set& microkernels_for(gemm_machine machine, gemm_precision precision,
                                               bfloat16_unit unit = best_bfloat16_unit()) noexcept {
  if (precision == gemm_precision::f32) return microkernels_for(machine);
  const bool rounds = precision == gemm_precision::bfloat16;
#if defined(__x86_64__) && defined(__linux__)
  if (machine == gemm_machine::avx512 && unit == bfloat16_unit::amx)
    return detail::amx_kernels(rounds                                     ? microkernel_numbers::bfloat16
                               : precision == gemm_precision::bfloat16_x3 ? microkernel_numbers::split_2
                                                                          : microkernel_numbers::split_3);
#endif
  if (!rounds) return microkernels_for(machine);
  const bool pairs = machine == gemm_machine::avx2 || (machine == gemm_machine::avx512 && unit != bfloat16_unit::none);
  return microkernels_for(machine, pairs ? microkernel_numbers::bfloat16 : microkernel_numbers::rounded);
}

/// Tiles for products of int8; the caller has checked that the machine has the unit.
inline const microkernel_set& int8_microkernels(gemm_machine machine = best_gemm_machine(),
                                                int8_unit unit = best_int8_unit()) noexcept {
#if defined(__x86_64__) && defined(__linux__)
  if (machine == gemm_machine::avx512 && unit == int8_unit::amx) return detail::amx_kernels(microkernel_numbers::int8);
#endif
  if (machine == gemm_machine::avx512 && unit == int8_unit::none) machine = gemm_machine::avx2;
  return microkernels_for(machine, microkernel_numbers::int8);
}

}  // namespace tokamax::cpu_backend

#if TOKAMAX_COMPILES(GEMM_AVX2)
  #include <tokamax/backend/cpu/gemm/isa/avx2_sets.hpp>  // portable_kernels, avx2_kernels
#endif
#if TOKAMAX_COMPILES(GEMM_AVX512)
  #include <tokamax/backend/cpu/gemm/isa/avx512_sets.hpp>  // avx512_kernels
#endif
#if TOKAMAX_COMPILES(GEMM_AMX)
  #include <tokamax/backend/cpu/gemm/isa/amx_sets.hpp>  // amx_kernels
#endif
