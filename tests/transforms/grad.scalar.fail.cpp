// expects: shape_error<.*"grad: value of the function".*"f32\[3\]".*"a floating scalar".*"grad\.scalar\.fail\.cpp".*, 19u?>
// tests/transforms/grad.scalar.fail.cpp: the gradient of a function whose value is no scalar.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms.hpp>

namespace tk = tokamax;

constexpr auto loss = [](const tk::array& x) {
#ifdef TOKAMAX_FIXED
  return tk::sum(x * x);
#else
  return x * x;
#endif
};
constexpr auto f = [](const tk::tensor<tk::f32, 3>& a) {
  return tk::grad(loss)(tk::array(a));  // P3.13: this line is at fault, not the one above
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 3>{}); }
