// expects: effect_without_traced_operand
// tests/transforms/debug_print.no_operand.fail.cpp: a line without a traced operand belongs to no program while compiling.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/debug_print.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32>& x) {
#ifdef TOKAMAX_FIXED
  tk::debug_print("begin {}", x);
#else
  tk::debug_print("begin");
#endif
  return tk::array(x) * 2.0f;
};

int main() { (void)tk::jit(f, tk::cpu_tag{}, tk::while_compiling)(tk::tensor<tk::f32>(tk::array(1.0f))); }
