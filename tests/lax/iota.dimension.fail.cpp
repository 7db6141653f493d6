// expects: shape_error<.*"iota: dimension".*"2".*"an axis of \[2,3\]".*, 14u?>
// tests/lax/iota.dimension.fail.cpp: an iota along an axis that is not there.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a) {
#ifdef TOKAMAX_FIXED
  return a + tk::iota(tk::f32, {2, 3}, 1);
#else
  return a + tk::iota(tk::f32, {2, 3}, 2);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}); }
