// tests/consumer/gpu.cpp: one binary for machines with a GPU and without; it says what is missing, and its status is then 1.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/backend/cuda.hpp>
#include <tokamax/numpy.hpp>

#include <cstdio>

namespace tk = tokamax;

int main() {
  std::printf("%.0f\n", tk::sum(tk::astype(tk::arange(100), tk::f32)).item());
  if (const std::string missing = tk::cuda.missing(); !missing.empty()) {
    std::printf("cuda:0: %s\n", missing.c_str());
    return 1;
  }
  std::printf("cuda:0: %.0f\n", tk::sum(tk::device_put(tk::astype(tk::arange(100), tk::f32), tk::cuda)).item());
  if (const std::string slow = tk::cuda.missing_libraries(); !slow.empty()) std::printf("cuda:0: %s\n", slow.c_str());
}
