// expects: shape_error<.*"add: shapes".*"f32\[4\]".*"f32\[2,3\]".*, 14u?>
// tests/lax/arithmetic.shapes.fail.cpp: shapes that do not broadcast.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a, const tk::tensor<tk::f32, 4>& b) {
#ifdef TOKAMAX_FIXED
  return a + tk::sum(b);
#else
  return a + b;
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}, tk::tensor<tk::f32, 4>{}); }
