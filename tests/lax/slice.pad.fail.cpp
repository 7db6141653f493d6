// expects: shape_error<.*"pad: amounts".*"\[1\]\[1\]".*"one pair an axis of f32\[2,3\]".*, 14u?>
// tests/lax/slice.pad.fail.cpp: amounts of another rank.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::pad(a, 0.0f, {1, 0}, {1, 0});
#else
  return tk::pad(a, 0.0f, {1}, {1});
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}); }
