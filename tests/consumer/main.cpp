// tests/consumer/main.cpp: a program that one line compiles.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <cstdio>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 3>& x) { return tk::sum(x * 4.0f); };

int main() { std::printf("sum: %g\n", tk::jit(f, tk::cpu)(tk::tensor<tk::f32, 3>{tk::ones({3})}).item()); }
