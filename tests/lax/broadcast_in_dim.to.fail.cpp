// expects: shape_error<.*"broadcast_to: shape".*"f32\[2,3\]".*"\[3,2\]".*, 14u?>
// tests/lax/broadcast_in_dim.to.fail.cpp: a broadcast to extents that differ.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::broadcast_to(a, {4, 2, 3}) + 2.0f;
#else
  return tk::broadcast_to(a, {3, 2});
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}); }
