// expects: shape_error<.*"reshape: number of elements".*"f32\[2,3\]".*"\[3\]".*, 14u?>
// tests/lax/reshape.squeeze.fail.cpp: an axis of extent 2 is squeezed.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::squeeze(tk::slice_in_dim(a, 0, 1, 0), 0) + 2.0f;
#else
  return tk::squeeze(a, 0);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 3>{}); }
