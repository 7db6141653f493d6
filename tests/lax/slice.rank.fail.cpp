// expects: shape_error<.*"slice: bounds".*"\[1\]:\[2\]".*"inside f32\[4,2\]".*, 14u?>
// tests/lax/slice.rank.fail.cpp: a slice of another rank.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 4, 2>& a) {
#ifdef TOKAMAX_FIXED
  return tk::slice(a, {1, 0}, {2, 2}) + 2.0f;
#else
  return tk::slice(a, {1}, {2});
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 4, 2>{}); }
