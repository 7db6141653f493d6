// tokamax/backend/cpu/gemm/choose/openmp_threads.hpp: the number of threads that other libraries use.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/choose/choice.cpp
#pragma once

#include <tokamax/base/requirements.hpp>

#if defined(_OPENMP)
  #include <omp.h>  // omp_set_num_threads
#endif

namespace tokamax::cpu_backend::detail {

/// Other libraries ask OpenMP for the number of threads. During the lifetime of this object, that number is ours.
class openmp_threads {
 public:
#if defined(_OPENMP)
  explicit openmp_threads(int n) noexcept : before_(omp_get_max_threads()) { set(n); }
  ~openmp_threads() { set(before_); }

 private:
  static void set(int n) noexcept {
    if (n != omp_get_max_threads()) omp_set_num_threads(n);
  }
  int before_;
#else
  explicit openmp_threads(int) noexcept {}
#endif
};

}  // namespace tokamax::cpu_backend::detail
