// expects: shape_error<.*"grad: value of the function".*"f32\[3\]".*"a floating scalar".*, 15u?>
// tests/transforms/vjp.scalar.fail.cpp: the gradient of a function whose value is no scalar.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::grad([](const tk::array& x) { return tk::sum(x * x); })(tk::array(a));
#else
  return tk::grad([](const tk::array& x) { return x * x; })(tk::array(a));
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 3>{}); }
