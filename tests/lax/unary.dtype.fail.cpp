// expects: shape_error<.*"exp: dtype".*"i32\[2\]".*"a floating dtype".*, 14u?>
// tests/lax/unary.dtype.fail.cpp: the op of a function of real numbers on integers.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::i32, 2>& a) {
#ifdef TOKAMAX_FIXED
  return tk::exp(a);
#else
  return tk::bind(tk::exp_p, {a}, tk::words{}, tk::location(std::source_location::current()));
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::i32, 2>{}); }
