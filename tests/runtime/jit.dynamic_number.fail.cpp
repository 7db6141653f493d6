// expects: shape_error<.*"dynamic extent: as a number".*17u?>
// tests/runtime/jit.dynamic_number.fail.cpp: P3.3: arithmetic on an extent that is known when the program runs.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, tk::dyn(), 4>& x) {
#ifdef TOKAMAX_FIXED
  const tk::array n = tk::astype(tk::extent_as_array(x.extent(0)), tk::f32);
  return tk::sum(x) / n;
#else
  const tk::array total = tk::sum(x);
  return total / x.extent(0);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, tk::dyn(), 4>(tk::ones({2, 4}))); }
