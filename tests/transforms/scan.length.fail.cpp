// expects: shape_error<.*"scan: length".*"f32\[5\]".*"leading 4".*, 20u?>
// tests/transforms/scan.length.fail.cpp: sequences of other lengths.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 4>& a, const tk::tensor<tk::f32, 5>& b) {
#ifdef TOKAMAX_FIXED
  return tk::scan(
             [](const tk::array& s, const std::pair<tk::array, tk::array>& x) {
               return std::pair{s + x.first * x.second, tk::nothing{}};
             },
             tk::array(0.0f), std::pair<tk::array, tk::array>(a, a))
      .first;
#else
  return tk::scan(
             [](const tk::array& s, const std::pair<tk::array, tk::array>& x) {
               return std::pair{s + x.first * x.second, tk::nothing{}};
             },
             tk::array(0.0f), std::pair<tk::array, tk::array>(a, b))
      .first;
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 4>{}, tk::tensor<tk::f32, 5>{}); }
