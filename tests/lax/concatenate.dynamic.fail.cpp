// expects: shape_error<.*"dynamic extent: concatenate".*"f32\[n,4\]".*15u?>
// tests/lax/concatenate.dynamic.fail.cpp: B3: rows whose number is known when the program runs, and one more.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, tk::dyn(), 4>& x, const tk::tensor<tk::f32, 1, 4>& y) {
#ifdef TOKAMAX_FIXED
  return tk::concatenate({x, x * y});
#else
  return tk::concatenate({x, y});
#endif
};

int main() {
  (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, tk::dyn(), 4>(tk::ones({2, 4})),
                                  tk::tensor<tk::f32, 1, 4>(tk::ones({1, 4})));
}
