// tokamax/base/compiled_once.hpp: macros for functions that are only called at run time, so that they are compiled once.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (it defines macros)
// tested by tests/odr/one.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

// A file that defines TOKAMAX_SEPARATE_KERNELS sees declarations only and links the library of kernels. The library is one
// file that defines TOKAMAX_INSTANTIATE_KERNELS, or several that also define TOKAMAX_KERNELS_PART, each as one of the
// parts below. Without these macros the bodies are inline. `linked` (linked.hpp) does the same for functions that
// constant expressions evaluate too.
#define TOKAMAX_PART_GRAPH 1        // core, compiler, runtime: what is not of another part
#define TOKAMAX_PART_RULES 2        // descriptors of ops, transforms
#define TOKAMAX_PART_ELEMENTWISE 3  // loops of elementwise ops
#define TOKAMAX_PART_REDUCE 4       // the kernels, as backend/cpu/generated/kernels.hpp has them
#define TOKAMAX_PART_ROWS 5
#define TOKAMAX_PART_MOVEMENT 6
#define TOKAMAX_PART_PRODUCTS 7
#define TOKAMAX_PART_GEMM_AVX2 8  // microkernels
#define TOKAMAX_PART_GEMM_AVX512 9
#define TOKAMAX_PART_GEMM_AMX 10
#define TOKAMAX_PART_FILES 11   // file formats, in a library of their own
#define TOKAMAX_PART_LINALG 12  // linear algebra by Eigen, in a library of its own
#define TOKAMAX_PART_XBYAK 14   // machine code of loops

/// Does this file compile the bodies of a part? They stand below such an #if, each behind TOKAMAX_BODY.
#if defined(TOKAMAX_INSTANTIATE_KERNELS) && defined(TOKAMAX_KERNELS_PART)
  #define TOKAMAX_COMPILES(part) (TOKAMAX_KERNELS_PART == TOKAMAX_PART_##part)
#elif defined(TOKAMAX_INSTANTIATE_KERNELS) || !defined(TOKAMAX_SEPARATE_KERNELS)
  #define TOKAMAX_COMPILES(part) 1
#else
  #define TOKAMAX_COMPILES(part) 0
#endif
#if defined(TOKAMAX_INSTANTIATE_KERNELS)
  #define TOKAMAX_BODY
#else
  #define TOKAMAX_BODY inline
#endif

/// The same for the part GRAPH: stands before bodies, which are left out where it is not defined.
#if TOKAMAX_COMPILES(GRAPH)
  #define TOKAMAX_COMPILED_ONCE TOKAMAX_BODY
#endif
/// The same for file formats. They are in a library of their own, because they need the JSON library; a file that defines
/// TOKAMAX_SEPARATE_FILES links it.
#if defined(TOKAMAX_KERNELS_PART) ? TOKAMAX_COMPILES(FILES) : !defined(TOKAMAX_SEPARATE_FILES)
  #define TOKAMAX_FILES_COMPILED_ONCE TOKAMAX_BODY
#endif