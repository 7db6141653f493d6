// expects: shape_error<.*"matmul: batch extents".*"f32\[5,3,2\]".*"f32\[4,2,3\]".*, 14u?>
// tests/lax/dot_general.batch.fail.cpp: batches of matrix products.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 4, 2, 3>& a, const tk::tensor<tk::f32, 5, 3, 2>& b) {
#ifdef TOKAMAX_FIXED
  return tk::matmul(a, tk::slice_in_dim(b, 0, 4, 0));
#else
  return tk::matmul(a, b);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 4, 2, 3>{}, tk::tensor<tk::f32, 5, 3, 2>{}); }
