// expects: shape_error<.*"reshape: number of elements".*"f32\[2,3\]".*"\[4,2\]".*, 14u?>
// tests/lax/reshape.count.fail.cpp: a reshape to another number of elements.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::reshape(a, {3, 2}) * 1.0f + 2.0f;
#else
  return tk::reshape(a, {4, 2});
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}); }
