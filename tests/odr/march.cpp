// tests/odr/march.cpp: one of two files of a program, which cmake/march_test.cmake compiles for different processors.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/gemm/dispatch.hpp>

int other();
#if defined(OTHER)
int other() { return 0; }
#else
int main() { return other(); }
#endif
