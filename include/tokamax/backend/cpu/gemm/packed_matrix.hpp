// tokamax/backend/cpu/gemm/packed_matrix.hpp: the right operand of matrix products, packed once for many of them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/dispatch.hpp>   // microkernels_for
#include <tokamax/backend/cpu/gemm/problem.hpp>    // pack_b
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/core/memory/step_scratch.hpp>    // scratch_memory

#include <algorithm>  // min
#include <cstdint>    // int64_t

namespace tokamax::cpu_backend {

/// The weights B [k, n] of products C = A B in the panels that the tiles of this machine read.
///
/// Products with it only pack and round A. Use it for decoding, and wherever weights do not change. In bfloat16 it takes
/// half the bytes of f32.
class packed_matrix {
 public:
  /// Packs b, in parallel.
  ///
  /// shapes  b [k, n] with any strides; it is not needed afterwards
  /// dtypes  f32 or bf16, which is rounded to `precision`; int8 for int8
  /// errors  ends the program when memory is exhausted
  packed_matrix(std::int64_t k, std::int64_t n, matrix_view b, gemm_precision precision = gemm_precision::f32)
      : packed_matrix(k, n, b, microkernels_for(best_gemm_machine(), precision)) {}

  /// The same for given kernels, which this machine must have.
  packed_matrix(std::int64_t k, std::int64_t n, matrix_view b, const microkernel_set& kernels)
      : k_(k), n_(n), kernels_(&kernels) {
    using namespace detail;
    if (k <= 0 || n <= 0) return;
    const std::int64_t nr = kernels.columns, block = gemm_k_block(k, kernels), count = ceil_div(n, nr);
    const std::int64_t last = (k - 1) / block;  // number of the last block
    const std::int64_t all_steps = last * panel_steps_of(kernels, block) + panel_steps_of(kernels, k - last * block);
    float* const data =
        reinterpret_cast<float*>(memory_.grow(static_cast<std::size_t>(all_steps * nr * count) * sizeof(float)));
    panels_ = {data, count, block, 0};
    const gemm_problem g{0, n, k, {}, b, nullptr, 0, gemm_mode::assign, {}};
    constexpr std::int64_t together = 4;  // panels
    parallel_for(ceil_div(count, together), [&](std::int64_t i) {
      const std::int64_t first = i * together, end = std::min(count, first + together);
      for (std::int64_t p = 0; p < k; p += block) {
        const std::int64_t steps = std::min(block, k - p);
        pack_b(g, kernels, data + (panels_.at(kernels, p, steps, first) - data), p, steps, first, end);
      }
    });
  }

  std::int64_t rows() const noexcept { return k_; }     ///< k
  std::int64_t columns() const noexcept { return n_; }  ///< n
  const detail::packed_panels& panels() const noexcept { return panels_; }
  const microkernel_set& kernels() const noexcept { return *kernels_; }

 private:
  std::int64_t k_, n_;
  const microkernel_set* kernels_;
  detail::packed_panels panels_;
  scratch_memory memory_;
};

}  // namespace tokamax::cpu_backend

/// What programs that multiply matrices themselves use.
namespace tokamax::blas {
using cpu_backend::packed_matrix;
}  // namespace tokamax::blas
