// expects: shape_error<.*"program_too_large: bodies".*"301".*"at most 256"
// tests/runtime/program.too_large.fail.cpp: more bodies than a program known while compiling may have.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms.hpp>

namespace tk = tokamax;

#ifdef TOKAMAX_FIXED
constexpr int loops = 2;
#else
constexpr int loops = 300;
#endif

constexpr auto f = [](const tk::tensor<tk::f32, 2>& a) {
  tk::array x = a;
  for (int i = 0; i < loops; ++i)
    x = tk::scan([](const tk::array& s, tk::nothing) { return std::pair{s * 0.5f, tk::nothing{}}; }, x, tk::nothing{},
                 {.length = 2})
            .first;
  return x;
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2>{}); }
