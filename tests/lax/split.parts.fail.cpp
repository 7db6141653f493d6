// expects: shape_error<.*"split: extent".*"f32\[5\]".*"a multiple of 2".*, 14u?>
// tests/lax/split.parts.fail.cpp: a split into parts that are not equal.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 5>& a) {
#ifdef TOKAMAX_FIXED
  return tk::split(a, 5)[0] + 2.0f;
#else
  return tk::split(a, 2)[0];
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 5>{}); }
