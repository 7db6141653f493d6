// expects: tokamax: the kernels of a device that is chosen at run time are not known while compiling
// tests/runtime/any_device.while_compiling.fail.cpp: a program that must be compiled is for a device that is chosen at run time.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2>& a) { return a * 2.0f; };

int main() {
  tk::device& where = tk::cpu.get();
#ifdef TOKAMAX_FIXED
  (void)tk::jit(f, where, tk::at_run_time)(tk::tensor<tk::f32, 2>{});
#else
  (void)tk::jit(f, where, tk::while_compiling)(tk::tensor<tk::f32, 2>{});
#endif
}
