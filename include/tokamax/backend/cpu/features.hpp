// tokamax/backend/cpu/features.hpp: the instructions that this processor has, asked in one place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#if defined(__x86_64__) && defined(__linux__)
  #include <cpuid.h>        // __get_cpuid_count
  #include <sys/syscall.h>  // SYS_arch_prctl
  #include <unistd.h>       // syscall
#endif

namespace tokamax::cpu_backend {

/// Instructions that not all processors have. A level includes those above it. On other processors than x86-64 all are false.
struct processor_features {
  bool x86_64_v2 = false;    ///< SSE4.2 and popcnt
  bool x86_64_v3 = false;    ///< AVX2, FMA and BMI2
  bool avx512f = false;      ///< the foundation of AVX-512
  bool avx512 = false;       ///< with vl, bw and dq: what kernels for AVX-512 are compiled with
  bool avx512_bf16 = false;  ///< dot products of pairs of bfloat16
  bool avx512_vnni = false;  ///< dot products of four int8
};

#if defined(__x86_64__)
  #define TOKAMAX_ANY_PROCESSOR [[gnu::target("arch=x86-64")]]
#else
  #define TOKAMAX_ANY_PROCESSOR
#endif
/// Asks this processor. The function is compiled for any x86-64 processor, so that it can run before others are known to.
TOKAMAX_ANY_PROCESSOR inline processor_features ask_processor() noexcept {
  processor_features f;
#if defined(__x86_64__)
  __builtin_cpu_init();
  f.x86_64_v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  f.x86_64_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  f.avx512f = __builtin_cpu_supports("avx512f");
  f.avx512 = f.avx512f && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq");
  f.avx512_bf16 = f.avx512 && __builtin_cpu_supports("avx512bf16");
  f.avx512_vnni = f.avx512 && __builtin_cpu_supports("avx512vnni");
#endif
  return f;
}
#undef TOKAMAX_ANY_PROCESSOR

/// The features of this processor, asked once.
inline const processor_features& features() noexcept {
  static const processor_features found = ask_processor();
  return found;
}

/// Does this processor have a matrix unit (AMX) for bfloat16 and int8, and may this process use it? The system is asked once,
/// for all threads.
inline bool has_amx() noexcept {
#if defined(__x86_64__) && defined(__linux__)
  static const bool found = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned all = 1u << 22 | 1u << 24 | 1u << 25;     // bfloat16, tiles, int8: they come together
    constexpr long request_permission = 0x1023, tile_data = 18;  // Linux: ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & all) == all &&
           syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return found;
#else
  return false;
#endif
}

}  // namespace tokamax::cpu_backend
