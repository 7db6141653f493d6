// tokamax/backend/cpu/processor.hpp: ends a program with a message if the processor lacks instructions that it needs.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/consumer/main.cpp
#pragma once

#include <tokamax/backend/cpu/features.hpp>  // ask_processor
#include <tokamax/base/compiled_once.hpp>    // TOKAMAX_COMPILED_ONCE

#include <cstdio>   // fputs
#include <cstdlib>  // _Exit

namespace tokamax::detail {

#if defined(TOKAMAX_COMPILED_ONCE) && defined(__x86_64__) && defined(__SSE4_2__) && !defined(__CUDACC__)
/// Ends the program with a message instead of an illegal instruction. It runs before all other constructors, and is compiled
/// for any x86-64 processor.
[[gnu::constructor(101), gnu::used, gnu::noinline, gnu::target("arch=x86-64")]] static void require_processor() {
  const cpu_backend::processor_features found = cpu_backend::ask_processor();
  #if defined(__AVX512F__)
  if (found.avx512f) return;
  std::fputs("tokamax: found a processor without AVX-512, expected one (or build with -march=x86-64-v3)\n", stderr);
  #elif defined(__AVX2__)
  if (found.x86_64_v3) return;
  std::fputs("tokamax: found a processor without AVX2, expected x86-64-v3 (or build with -DTOKAMAX_MARCH=x86-64-v2)\n",
             stderr);
  #else
  if (found.x86_64_v2) return;
  std::fputs("tokamax: found a processor without SSE4.2, expected x86-64-v2 (or build with -DTOKAMAX_MARCH=)\n",
             stderr);
  #endif
  std::_Exit(1);
}
#endif

}  // namespace tokamax::detail
