// tokamax/backend/cpu/one_march.hpp: makes the linker reject files that are compiled for vectors of different widths.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (vector/simd.hpp includes it)
// tested by tests/odr/march.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

// To the linker, inline functions with the same name are one function. So the files of a program must agree on the width of
// vectors and on fused multiply-add. Each file defines an absolute symbol whose value encodes these two. Linkers accept
// equal values as one definition, and report different ones as "multiple definition of
// tokamax_wants_one_march_in_all_files".
#if defined(__ELF__) && !defined(__CUDACC__)
  #if defined(__AVX512F__)
    #define TOKAMAX_VECTORS "512"
  #elif defined(__AVX2__) && defined(__FMA__)
    #define TOKAMAX_VECTORS "257"
  #elif defined(__AVX__)
    #define TOKAMAX_VECTORS "256"
  #else
    #define TOKAMAX_VECTORS "128"
  #endif
__asm__(
    ".globl tokamax_wants_one_march_in_all_files\n"
    ".hidden tokamax_wants_one_march_in_all_files\n"
    ".set tokamax_wants_one_march_in_all_files, " TOKAMAX_VECTORS "\n");
  #undef TOKAMAX_VECTORS
#endif
