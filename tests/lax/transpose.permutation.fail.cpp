// expects: shape_error<.*"transpose: permutation".*"\[0,0\]".*"of the axes of f32\[2,3\]".*, 14u?>
// tests/lax/transpose.permutation.fail.cpp: a permutation with an axis twice.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::transpose(a, {1, 0}) + 2.0f;
#else
  return tk::transpose(a, {0, 0});
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}); }
