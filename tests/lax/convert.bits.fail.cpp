// expects: shape_error<.*"bitcast_convert_type: width".*"f32\[2\]".*"bf16".*, 14u?>
// tests/lax/convert.bits.fail.cpp: bits of another width.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2>& a) {
#ifdef TOKAMAX_FIXED
  return tk::bitcast_convert_type(a, tk::i32) + 1;
#else
  return tk::bitcast_convert_type(a, tk::bf16);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2>{}); }
