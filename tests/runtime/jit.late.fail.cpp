// expects: "argument 0".*"an array of any dtype and shape".*not known while compiling|not known while compiling.*"argument 0".*"an array of any dtype and shape"
// tests/runtime/jit.late.fail.cpp: a program that must be compiled has an argument of any shape.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::array& a) { return a * 2.0f; };

#ifdef TOKAMAX_FIXED
using argument = tk::tensor<tk::f32, 2>;
#else
using argument = tk::array;
#endif

int main() { (void)tk::jit(f, tk::cpu_tag{}, tk::while_compiling)(argument{}); }
