// tokamax/base/compiled_once.hpp: functions that only running programs call, compiled once for a program.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (it defines a macro)
// tested by tests/odr/one.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

/// Stands before the bodies of such functions, which are left out where it is not defined. Files that define
/// TOKAMAX_SEPARATE_KERNELS see declarations alone and link the library, the one file with TOKAMAX_INSTANTIATE_KERNELS;
/// else the bodies are inline. (`linked` is for functions that constant expressions evaluate too.)
#if defined(TOKAMAX_INSTANTIATE_KERNELS)
  #define TOKAMAX_COMPILED_ONCE
#elif !defined(TOKAMAX_SEPARATE_KERNELS)
  #define TOKAMAX_COMPILED_ONCE inline
#endif
