// expects: missing_kernel<.*"mystery".*"cpu"
// tests/runtime/program.missing_kernel.fail.cpp: an op without a kernel and without a meaning in smaller ops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

inline constexpr tk::op mystery_p{.name = "mystery", .infer = [](const tk::call& c) { return c[0].type(); }};

constexpr auto f = [](const tk::tensor<tk::f32, 2>& a) {
#ifdef TOKAMAX_FIXED
  return tk::bind(tk::tanh_p, {a}, tk::words{}, tk::location{});
#else
  return tk::bind(mystery_p, {a}, tk::words{}, tk::location{});
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2>{}); }
