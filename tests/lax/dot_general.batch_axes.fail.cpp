// expects: shape_error<.*"dot_general: batch extents".*"f32\[5,3\]".*"f32\[4,3\]".*, 14u?>
// tests/lax/dot_general.batch_axes.fail.cpp: batch axes of dot_general.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 4, 3>& a, const tk::tensor<tk::f32, 5, 3>& b) {
#ifdef TOKAMAX_FIXED
  return tk::dot_general(a, b, {{1}, {1}, {}, {}});
#else
  return tk::dot_general(a, b, {{1}, {1}, {0}, {0}});
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 4, 3>{}, tk::tensor<tk::f32, 5, 3>{}); }
