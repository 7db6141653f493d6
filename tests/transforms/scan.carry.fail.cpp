// expects: shape_error<.*"scan: carry".*"f32\[3,3\]".*"f32\[3\]".*, 17u?>
// tests/transforms/scan.carry.fail.cpp: a body that changes the shape of its carry.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 3>& a, const tk::tensor<tk::f32, 4, 3>& b) {
#ifdef TOKAMAX_FIXED
  return tk::scan([](const tk::array& s, const tk::array& x) { return std::pair{s + x, tk::nothing{}}; }, tk::array(a),
                  tk::array(b))
      .first;
#else
  return tk::scan(
             [](const tk::array& s, const tk::array& x) { return std::pair{s + tk::expand_dims(x, 1), tk::nothing{}}; },
             tk::array(a), tk::array(b))
      .first;
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 3>{}, tk::tensor<tk::f32, 4, 3>{}); }
