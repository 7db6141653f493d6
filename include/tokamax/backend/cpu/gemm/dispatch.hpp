// tokamax/backend/cpu/gemm/dispatch.hpp: which microkernels multiply on this machine.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/microkernel_set.hpp>  // microkernel_set
#include <tokamax/base/compiled_once.hpp>                // TOKAMAX_COMPILES

#if defined(__x86_64__) && defined(__linux__)
  #include <cpuid.h>        // __get_cpuid_count
  #include <sys/syscall.h>  // SYS_arch_prctl
  #include <unistd.h>       // syscall
#endif

namespace tokamax::cpu_backend {

/// The number format in which operands are multiplied; sums are always f32. x3 and x6 split operands into sums of bfloat16
/// numbers, and sum three or six of the products. On machines where that is not faster, they compute in f32.
enum class gemm_precision { f32, bfloat16, bfloat16_x3, bfloat16_x6 };

/// The instruction sets that have tiles of their own.
enum class gemm_machine { portable, avx2, avx512 };

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

#if defined(__x86_64__) && defined(__linux__)
namespace detail {
/// Does this machine have the unit, and may this process use it? The system is asked once, for all threads.
inline bool has_amx() noexcept {
  static const bool found = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned all = 1u << 22 | 1u << 24 | 1u << 25;     // bfloat16, tiles, int8: they come together
    constexpr long request_permission = 0x1023, tile_data = 18;  // Linux: ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & all) == all &&
           syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return found;
}
}  // namespace detail
#endif

/// How bfloat16 is multiplied: by instructions for f32 on rounded operands, by dot products of pairs, or by a matrix unit.
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

/// How int8 is multiplied: by instructions for 16 bits, by those for f32 on integers, by dot products of quads, or by a
/// matrix unit.
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
