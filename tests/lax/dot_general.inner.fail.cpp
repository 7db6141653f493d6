// expects: shape_error<.*"matmul: inner extents".*"f32\[4,2\]".*"f32\[2,3\]".*, 14u?>
// tests/lax/dot_general.inner.fail.cpp: inner extents of a matrix product.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a, const tk::tensor<tk::f32, 4, 2>& b) {
#ifdef TOKAMAX_FIXED
  return tk::matmul(b, a);
#else
  return tk::matmul(a, b);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}, tk::tensor<tk::f32, 4, 2>{}); }
