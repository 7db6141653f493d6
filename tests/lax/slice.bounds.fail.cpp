// expects: shape_error<.*"slice: bounds".*"\[1\]:\[5\]".*"inside f32\[4\]".*, 14u?>
// tests/lax/slice.bounds.fail.cpp: a slice beyond the end.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 4>& a) {
#ifdef TOKAMAX_FIXED
  return tk::slice(a, {1}, {4}) + 2.0f;
#else
  return tk::slice(a, {1}, {5});
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 4>{}); }
