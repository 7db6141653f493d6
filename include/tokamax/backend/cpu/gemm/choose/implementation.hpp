// tokamax/backend/cpu/gemm/choose/implementation.hpp: matrix products by other code than ours, and the place where it steps in.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/choose/choice.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/dispatch.hpp>  // gemm_precision
#include <tokamax/backend/cpu/gemm/problem.hpp>   // matrix_view, gemm_mode

#include <atomic>       // atomic
#include <cstdint>      // int64_t
#include <string_view>  // string_view

namespace tokamax::simd {

/// C = A B, or C += A B, as an implementation gets it: m, n, k > 0, and of the strides of A and of B one is 1 and the
/// other is no less than the elements it steps over.
struct gemm_product {
  std::int64_t m, n, k;
  matrix_view a, b;  ///< [m, k] and [k, n]
  float* c;          ///< [m, n], rows ldc apart; std::int32_t where a and b are int8
  std::int64_t ldc;
  gemm_mode mode;
  gemm_precision precision;  ///< in which f32 operands are multiplied
};

/// Are the columns of such an operand contiguous, not its rows?
inline bool is_transposed(const matrix_view& v) noexcept { return v.column_stride != 1; }
/// Elements between its rows, or its columns where they are contiguous.
inline std::int64_t leading_stride(const matrix_view& v) noexcept {
  return is_transposed(v) ? v.column_stride : v.row_stride;
}

/// Code that computes products.
struct gemm_implementation {
  std::string_view name;                      ///< a word, in text that outlives the program's products
  bool (*can)(const gemm_product&) noexcept;  ///< asked before each product: may `run` get it?
  void (*run)(const gemm_product&);           ///< on omp_get_max_threads() threads: it is set to ours meanwhile
};

namespace detail {

using gemm_fn = void (*)(const gemm_product&);

// Computes a product, of any strides and extents, by another implementation, or returns false: then it is ours, by `own`.
// Null while there is no other.
inline std::atomic<bool (*)(const gemm_product&, gemm_fn own)> gemm_elsewhere{nullptr};

}  // namespace detail
}  // namespace tokamax::simd
