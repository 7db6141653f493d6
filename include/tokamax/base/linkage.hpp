// tokamax/base/linkage.hpp: functions that a linked library may hold for all files of a program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Stands before a function that is costly to compile: `inline`, and
///   TOKAMAX_INSTANTIATE_KERNELS  compiled here, used or not: the library is one file that defines this
///   TOKAMAX_SEPARATE_KERNELS     known here to constant expressions and the inliner, linked from the library
/// Without these two macros the headers are all there is. clang compiles such functions wherever they are used.
#if defined(TOKAMAX_INSTANTIATE_KERNELS)
  #define TOKAMAX_INLINE [[gnu::used]] inline
#elif defined(TOKAMAX_SEPARATE_KERNELS) && defined(__GNUC__) && !defined(__clang__)
  #define TOKAMAX_INLINE [[gnu::gnu_inline]] inline
#else
  #define TOKAMAX_INLINE inline
#endif
