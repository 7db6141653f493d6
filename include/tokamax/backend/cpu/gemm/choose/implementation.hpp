// tokamax/backend/cpu/gemm/choose/implementation.hpp: the interface for matrix products by other libraries.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/choose/choice.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/dispatch.hpp>  // gemm_precision
#include <tokamax/backend/cpu/gemm/problem.hpp>   // matrix_view, gemm_mode

#include <atomic>       // atomic
#include <cstdint>      // int64_t
#include <string_view>  // string_view

namespace tokamax::cpu_backend {

/// C = A B, or C += A B, as other implementations get it. m, n and k are positive. A and B each have one stride of 1, and
/// their other stride is at least the number of elements that it steps over.
struct gemm_product {
  std::int64_t m, n, k;
  matrix_view a, b;  ///< [m, k] and [k, n]
  float* c;          ///< [m, n], with rows ldc apart; it points to std::int32_t if a and b are int8
  std::int64_t ldc;
  gemm_mode mode;
  gemm_precision precision;  ///< the precision in which f32 operands are multiplied
};

/// Are the columns of such an operand contiguous, instead of its rows?
inline bool is_transposed(const matrix_view& v) noexcept { return v.column_stride != 1; }
/// The distance between its rows, or between its columns if these are contiguous.
inline std::int64_t leading_stride(const matrix_view& v) noexcept {
  return is_transposed(v) ? v.column_stride : v.row_stride;
}

/// Code that computes products.
struct gemm_implementation {
  std::string_view name;                      ///< one word; its characters must stay valid
  bool (*can)(const gemm_product&) noexcept;  ///< can `run` compute this product? It is asked before each product
  void (*run)(const gemm_product&);           ///< computes it on omp_get_max_threads() threads, which is set to ours
};

namespace detail {

using gemm_fn = void (*)(const gemm_product&);

// Changes v [rows, columns] to strides that other implementations take. False if that is impossible.
inline bool straighten(matrix_view& v, std::int64_t rows, std::int64_t columns) noexcept {
  const bool one_row = rows == 1, one_column = columns == 1;
  if ((v.column_stride == 1 || one_column) && (v.row_stride >= columns || one_row)) {
    v.column_stride = 1;
    if (one_row) v.row_stride = columns;
    return true;
  }
  if (!(v.row_stride == 1 || one_row) || !(v.column_stride >= rows || one_column)) return false;
  v.row_stride = 1;
  if (one_column) v.column_stride = rows;
  return true;
}

// Computes a product, with any strides and extents, by another implementation. If it returns false, our code must compute
// the product. It is null while there is no other implementation.
inline std::atomic<bool (*)(const gemm_product&, gemm_fn own)> gemm_override{nullptr};

}  // namespace detail
}  // namespace tokamax::cpu_backend
