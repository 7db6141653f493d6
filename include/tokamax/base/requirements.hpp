// tokamax/base/requirements.hpp: one line that says what to do, where tokamax cannot be compiled.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/consumer/main.cpp
#pragma once

// Every other header includes this one first. The includes below name files that do not exist: a missing file ends the
// compilation at once, and its name is the message. After an #error the compiler would go on and print pages of others.
#if defined(__clang__) && !defined(__apple_build_version__) && __clang_major__ < 16
  #include <tokamax: found a clang before 16, expected clang 16, g++ 12 or newer>
#elif defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
  #include <tokamax: found a g++ before 12, expected g++ 12, clang 16 or newer>
#elif __cplusplus < 202002L
  #include <tokamax: found a language before C++20, expected -std=c++20>
#elif defined(__GNUC__) && !defined(__cpp_exceptions)
  #include <tokamax: found -fno-exceptions, expected exceptions, by which errors are reported at run time>
#elif defined(__x86_64__) && !defined(__AVX2__) && !defined(TOKAMAX_ANY_X86) && !defined(__CUDACC__)
  #include <tokamax: found no AVX2, expected -march=x86-64-v3, or -DTOKAMAX_ANY_X86 for slower code without it>
#endif
