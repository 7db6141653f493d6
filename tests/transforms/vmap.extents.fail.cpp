// expects: shape_error<.*"vmap: batch extent".*"f32\[4\]".*"leading 3".*, 15u?>
// tests/transforms/vmap.extents.fail.cpp: arguments with other batches.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 3>& a, const tk::tensor<tk::f32, 4>& b) {
#ifdef TOKAMAX_FIXED
  return tk::vmap([](const tk::array& x, const tk::array& y) { return x * y; })(tk::array(a), tk::array(a));
#else
  return tk::vmap([](const tk::array& x, const tk::array& y) { return x * y; })(tk::array(a), tk::array(b));
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 3>{}, tk::tensor<tk::f32, 4>{}); }
