// expects: shape_error<.*"argmax: axis".*"3".*"an axis of f32\[2,3\]".*, 14u?>
// tests/lax/reduce.argmax.fail.cpp: the argmax along an axis that is not there.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::argmax(a, 1);
#else
  return tk::argmax(a, 3);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}); }
