// expects: shape_error<.*"scatter_add: updates".*"f32\[4,3\]".*"axes of i32\[2\] first".*, 14u?>
// tests/lax/gather.scatter.fail.cpp: updates that do not fit the indices.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::i32, 2>& a, const tk::tensor<tk::f32, 4, 3>& b) {
#ifdef TOKAMAX_FIXED
  return tk::scatter_add(a, tk::slice_in_dim(b, 0, 2, 0), 5);
#else
  return tk::scatter_add(a, b, 5);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::i32, 2>{}, tk::tensor<tk::f32, 4, 3>{}); }
