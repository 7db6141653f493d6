// expects: shape_error<.*"reduce_sum: axis".*"\[2\]".*"axes of f32\[2,3\]".*, 14u?>
// tests/lax/reduce.axis.fail.cpp: a reduction over an axis that is not there.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::sum(a, {{1}});
#else
  return tk::sum(a, {{2}});
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}); }
