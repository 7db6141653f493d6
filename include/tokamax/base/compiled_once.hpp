// tokamax/base/compiled_once.hpp: a macro for functions that are only called at run time, so that they are compiled once.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (it defines a macro)
// tested by tests/odr/one.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

/// The macro stands before the bodies of such functions, and the bodies are left out where it is not defined. A file that
/// defines TOKAMAX_SEPARATE_KERNELS sees declarations only and links the library of kernels, which is the one file that
/// defines TOKAMAX_INSTANTIATE_KERNELS. Without these macros the bodies are inline. `linked` (linked.hpp) does the same
/// for functions that constant expressions evaluate too.
#if defined(TOKAMAX_INSTANTIATE_KERNELS)
  #define TOKAMAX_COMPILED_ONCE
#elif !defined(TOKAMAX_SEPARATE_KERNELS)
  #define TOKAMAX_COMPILED_ONCE inline
#endif
