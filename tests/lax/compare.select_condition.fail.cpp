// expects: shape_error<.*"select: condition".*"f32\[3\]".*"bool\[3\]".*, 14u?>
// tests/lax/compare.select_condition.fail.cpp: a condition that is no truth value.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 3>& a) {
#ifdef TOKAMAX_FIXED
  return tk::bind(tk::select_p, {a > 0.0f, a, a + 1.0f}, tk::words{}, tk::location(std::source_location::current()));
#else
  return tk::bind(tk::select_p, {a, a, a + 1.0f}, tk::words{}, tk::location(std::source_location::current()));
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 3>{}); }
