// tests/support/emulated_gpu.hpp: a GPU that is not there, whose kernels are device text compiled for the host.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cuda.hpp>

#include "support/catch.hpp"
#include "support/fake_cuda.hpp"
#include "support/temporary_folder.hpp"

namespace tokamax::test {

/// The GPU of this test file; null, with a warning, where no compiler is known. Its code stays in memory.
inline const fake_gpu* emulated_gpu(int number) {
  if (!fake_cuda::compiles_text()) {
    WARN("skipped: no compiler for device text");
    return nullptr;
  }
  fake_cuda::get().now = {.runs_kernels = true};
  static const temporary_folder folder;
  static const auto& gpus = *new cuda_backend::driver(fake_cuda::driver());
  static const auto& compiler = *new cuda_backend::nvrtc(fake_cuda::compiler());
  static const fake_gpu one{new cuda_backend::instance(number, kernel_table_of<cuda_tag>(),
                                                       {gpus, compiler, cuda_backend::code_cache(folder.path)})};
  return &one;
}

}  // namespace tokamax::test
