// expects: shape_error<.*"grad: value of the function".*"i32\[\]".*"a floating scalar".*, 15u?>
// tests/transforms/grad.integer.fail.cpp: the gradient of an integer.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::grad([](const tk::array& x) { return tk::max(x); })(tk::array(a));
#else
  return tk::grad([](const tk::array& x) { return tk::argmax(x); })(tk::array(a));
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 3>{}); }
