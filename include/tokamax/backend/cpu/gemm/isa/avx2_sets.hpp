// tokamax/backend/cpu/gemm/isa/avx2_sets.hpp: the microkernels of AVX2, and those of any machine.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/isa/avx2.hpp>           // gemm_avx2
#include <tokamax/backend/cpu/gemm/isa/avx2_bfloat16.hpp>  // gemm_avx2_bfloat16
#include <tokamax/backend/cpu/gemm/isa/avx2_int8.hpp>      // gemm_avx2_int8
#include <tokamax/backend/cpu/gemm/isa/portable_int8.hpp>  // gemm_portable_int8
#include <tokamax/base/compiled_once.hpp>                  // TOKAMAX_BODY

namespace tokamax::cpu_backend::detail {

template <class V = f32v>
inline constexpr microkernel_set gemm_portable_rounding =
    rounding(gemm_portable<V>, pack_portable<pack_source::rounded>);

TOKAMAX_BODY const microkernel_set& portable_kernels(microkernel_numbers numbers) noexcept {
  switch (numbers) {
    case microkernel_numbers::rounded:
      return gemm_portable_rounding<>;
    case microkernel_numbers::int8:
      return gemm_portable_int8<>;
    default:
      return gemm_portable<>;
  }
}

#if defined(__x86_64__)
inline constexpr microkernel_set gemm_avx2_rounding = rounding(gemm_avx2, pack_avx2<pack_source::rounded>);

TOKAMAX_BODY const microkernel_set& avx2_kernels(microkernel_numbers numbers) noexcept {
  switch (numbers) {
    case microkernel_numbers::rounded:
      return gemm_avx2_rounding;
    case microkernel_numbers::bfloat16:
      return gemm_avx2_bfloat16;
    case microkernel_numbers::int8:
      return gemm_avx2_int8;
    default:
      return gemm_avx2;
  }
}
#endif

}  // namespace tokamax::cpu_backend::detail
