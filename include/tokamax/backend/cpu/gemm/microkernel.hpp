// tokamax/backend/cpu/gemm/microkernel.hpp: the register tiles of this machine.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/avx2.hpp>         // gemm_avx2
#include <tokamax/backend/cpu/gemm/isa/avx512.hpp>       // gemm_avx512
#include <tokamax/backend/cpu/gemm/isa/portable.hpp>     // gemm_portable
#include <tokamax/backend/cpu/gemm/microkernel_set.hpp>  // gemm_kernels

namespace tokamax::simd {

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
