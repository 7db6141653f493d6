// expects: shape_error<.*"sub: dtype".*"bool\[3\]".*"numbers".*, 14u?>
// tests/lax/arithmetic.bool_sum.fail.cpp: arithmetic on truth values.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::bool_, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::astype(a, tk::f32) - tk::astype(a, tk::f32);
#else
  return a - a;
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::bool_, 3>{}); }
