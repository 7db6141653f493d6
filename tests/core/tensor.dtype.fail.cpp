// expects: shape_error<.*"tensor: type".*"f32\[2\]".*"bf16\[2\]".*, 14u?>
// tests/core/tensor.dtype.fail.cpp: a tensor made of an array of another dtype.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2>& a) {
#ifdef TOKAMAX_FIXED
  return tk::tensor<tk::bf16, 2>(tk::astype(a, tk::bf16));
#else
  return tk::tensor<tk::bf16, 2>(a + 1.0f);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2>{}); }
