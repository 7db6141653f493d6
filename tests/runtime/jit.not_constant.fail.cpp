// expects: weights[^a-z]+ is not usable in a constant expression|read of non-constexpr variable 'weights'
// lines: 32
// tests/runtime/jit.not_constant.fail.cpp: what the compiler is to trace reads data that the program makes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

tk::array weights = tk::array::from<float>({1, 2});

#ifdef TOKAMAX_FIXED
constexpr auto f = [](const tk::tensor<tk::f32, 2>& a, const tk::tensor<tk::f32, 2>& w) { return a * w; };
#else
constexpr auto f = [](const tk::tensor<tk::f32, 2>& a, const tk::tensor<tk::f32, 2>&) { return a * weights; };
#endif

int main() {
  using numbers = tk::tensor<tk::f32, 2>;
  (void)tk::jit(f, tk::cpu_tag{}, tk::while_compiling)(numbers(tk::ones({2})), numbers(weights));
}
