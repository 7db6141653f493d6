// expects: shape_error<.*"concatenate: operand".*"f32\[2,4\]".*"f32\[2,3\]".*, 14u?>
// tests/lax/concatenate.extents.fail.cpp: parts that differ in another axis.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a, const tk::tensor<tk::f32, 2, 4>& b) {
#ifdef TOKAMAX_FIXED
  return tk::concatenate({a, b}, 1);
#else
  return tk::concatenate({a, b}, 0);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}, tk::tensor<tk::f32, 2, 4>{}); }
