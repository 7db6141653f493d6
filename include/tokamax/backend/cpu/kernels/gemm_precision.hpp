// tokamax/backend/cpu/kernels/gemm_precision.hpp: the precision that an op requires of its matrix products.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/precision.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/dispatch.hpp>  // gemm_precision, best_bfloat16_unit
#include <tokamax/lax/dot_general.hpp>            // dot_algorithm

namespace tokamax::cpu_backend {

/// The numbers in which this machine multiplies arrays of f32 or bf16. Parts that no unit multiplies are f32 here already,
/// so that libraries may be chosen for them.
inline gemm_precision gemm_precision_of(dtype type, dot_algorithm asked) noexcept {
  const bool parts = best_bfloat16_unit() == bfloat16_unit::amx;
  switch (tokamax::detail::algorithm_of(type, asked)) {
    case dot_algorithm::bf16_bf16_f32:
      return gemm_precision::bfloat16;
    case dot_algorithm::bf16_bf16_f32_x3:
      return parts ? gemm_precision::bfloat16_x3 : gemm_precision::f32;
    case dot_algorithm::bf16_bf16_f32_x6:
      return parts ? gemm_precision::bfloat16_x6 : gemm_precision::f32;
    default:
      return gemm_precision::f32;
  }
}

}  // namespace tokamax::cpu_backend
