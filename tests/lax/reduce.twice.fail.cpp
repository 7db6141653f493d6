// expects: shape_error<.*"reduce_max: axis".*"\[0,0\]".*"axes of f32\[2,3\]".*, 14u?>
// tests/lax/reduce.twice.fail.cpp: a reduction over an axis twice.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::max(a, {{0, 1}});
#else
  return tk::max(a, {{0, 0}});
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}); }
