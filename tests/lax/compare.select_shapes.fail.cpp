// expects: shape_error<.*"select: shapes".*"f32\[4\]".*"bool\[3\]".*, 15u?>
// tests/lax/compare.select_shapes.fail.cpp: branches that do not broadcast.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::bool_, 3>& a, const tk::tensor<tk::f32, 3>& b,
                      const tk::tensor<tk::f32, 4>& c) {
#ifdef TOKAMAX_FIXED
  return tk::select(a, b, b + 1.0f);
#else
  return tk::select(a, b, c);
#endif
};

int main() {
  (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::bool_, 3>{}, tk::tensor<tk::f32, 3>{}, tk::tensor<tk::f32, 4>{});
}
