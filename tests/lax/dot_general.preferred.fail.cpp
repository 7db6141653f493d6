// expects: shape_error<.*"dot_general: preferred type".*"i8".*"i32, or wider of its kind".*, 14u?>
// tests/lax/dot_general.preferred.fail.cpp: sums in a narrower dtype than the operands'.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::i32, 2, 3>& a, const tk::tensor<tk::i8, 3, 2>& b) {
#ifdef TOKAMAX_FIXED
  return tk::matmul(a, b, {.preferred_element_type = tk::i32});
#else
  return tk::matmul(a, b, {.preferred_element_type = tk::i8});
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::i32, 2, 3>{}, tk::tensor<tk::i8, 3, 2>{}); }
