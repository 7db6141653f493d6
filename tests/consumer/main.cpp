// tests/consumer/main.cpp: the program of a project that uses the installed package.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <tokamax/tokamax.hpp>

int main() { std::printf("tokamax %s\n", tokamax::version.data()); }
