// tokamax/backend/cpu/gemm/gemm.hpp: matrix products in f32, bfloat16 or int8, with any strides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/gemm/choose/implementation.hpp>  // gemm_override
#include <tokamax/backend/cpu/gemm/choose/openmp_threads.hpp>  // openmp_threads
#include <tokamax/backend/cpu/gemm/dispatch.hpp>               // microkernels_for
#include <tokamax/backend/cpu/gemm/one_product.hpp>            // gemm_one
#include <tokamax/backend/cpu/gemm/packed_matrix.hpp>          // packed_matrix
#include <tokamax/backend/cpu/gemm/problem.hpp>                // matrix_view
#include <tokamax/backend/cpu/vector/threads.hpp>              // parallel_for

#include <atomic>   // memory_order_acquire
#include <cstdint>  // int64_t

namespace tokamax::cpu_backend {

namespace detail {

inline void own_gemm(const gemm_product& p) {
  gemm_one({p.m, p.n, p.k, p.a, p.b, p.c, p.ldc, p.mode, {}},
           p.a.element == gemm_element::int8 ? int8_microkernels() : microkernels_for(best_gemm_machine(), p.precision),
           num_threads());
}

// Lets another implementation compute the product: the given one, or if that is null the one chosen for the shape. False if
// there is none, or if it cannot.
inline bool done_by_other(gemm_product p, const gemm_implementation* by) {
  if (by == nullptr) {
    const auto chosen = gemm_override.load(std::memory_order_acquire);
    return chosen != nullptr && chosen(p, own_gemm);
  }
  const bool empty = p.m <= 0 || p.n <= 0 || p.k <= 0;
  if (empty || !straighten(p.a, p.m, p.k) || !straighten(p.b, p.k, p.n) || !by->can(p)) return false;
  const openmp_threads limit(num_threads());
  by->run(p);
  return true;
}
}  // namespace detail

/// C = A B, or C += A B, with A [m, k], B [k, n] of any strides and C [m, n] with rows ldc apart.
///
/// Each element is a sum in the order of k, cut into blocks that depend on k only. So the bits are the same for any number
/// of threads, for any m and n, and on every machine with fused multiply-add. k = 0 gives zero. With
/// gemm_precision::bfloat16, operands are rounded to bfloat16 while they are packed, and machines with the same
/// bfloat16_unit give the same bits. If other implementations are registered (choice.hpp), the bits are those of the chosen
/// one. `by` names one, which computes products without an epilogue that it can.
///
/// shapes  a [m, k], b [k, n], c [m, n]; c may not overlap a or b
/// dtypes  a, b f32 or bf16; c f32
/// errors  none; strides are not checked
inline void gemm(std::int64_t m, std::int64_t n, std::int64_t k, matrix_view a, matrix_view b, float* c,
                 std::int64_t ldc, gemm_mode mode = gemm_mode::assign, gemm_epilogue epilogue = {},
                 gemm_precision precision = gemm_precision::f32, const gemm_implementation* by = nullptr) {
  if (epilogue.apply == nullptr && detail::done_by_other({m, n, k, a, b, c, ldc, mode, precision}, by)) return;
  detail::gemm_one({m, n, k, a, b, c, ldc, mode, epilogue}, microkernels_for(best_gemm_machine(), precision),
                   num_threads());
}

/// The same with a packed B, which determines the shape, precision and unit. The bits are those of the unpacked matrix.
inline void gemm(std::int64_t m, matrix_view a, const packed_matrix& b, float* c, std::int64_t ldc,
                 gemm_mode mode = gemm_mode::assign, gemm_epilogue epilogue = {}) {
  detail::gemm_one({m, b.columns(), b.rows(), a, {nullptr, b.columns(), 1}, c, ldc, mode, epilogue, b.panels()},
                   b.kernels(), num_threads());
}

/// C = A B, or C += A B, of int8, exact modulo 2^32.
///
/// shapes  a [m, k], b [k, n], c [m, n]; c may not overlap a or b
/// dtypes  a, b int8; c int32
inline void gemm(std::int64_t m, std::int64_t n, std::int64_t k, matrix_view a, matrix_view b, std::int32_t* c,
                 std::int64_t ldc, gemm_mode mode = gemm_mode::assign, const gemm_implementation* by = nullptr) {
  const gemm_product p{m, n, k, a, b, reinterpret_cast<float*>(c), ldc, mode, gemm_precision::f32};
  if (!detail::done_by_other(p, by)) detail::own_gemm(p);
}

/// The same with a B that was packed for int8_microkernels().
inline void gemm(std::int64_t m, matrix_view a, const packed_matrix& b, std::int32_t* c, std::int64_t ldc,
                 gemm_mode mode = gemm_mode::assign) {
  gemm(m, a, b, reinterpret_cast<float*>(c), ldc, mode);
}

/// `batch` products whose operands are `..._batch_stride` elements apart; 0 shares an operand.
///
/// The epilogue gets i * m + row as the row of product i. Small products are distributed over the threads, and large ones are
/// computed one after the other by all threads. The bits do not depend on that.
inline void gemm_batched(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, matrix_view a,
                         std::int64_t a_batch_stride, matrix_view b, std::int64_t b_batch_stride, float* c,
                         std::int64_t ldc, std::int64_t c_batch_stride, gemm_mode mode = gemm_mode::assign,
                         gemm_epilogue epilogue = {}, gemm_precision precision = gemm_precision::f32,
                         const gemm_implementation* by = nullptr) {
  const microkernel_set& kernels = microkernels_for(best_gemm_machine(), precision);
  const int threads = num_threads();
  const auto product = [&](std::int64_t i, int width_of_team) {
    matrix_view ai = a, bi = b;
    ai.data = a.at(0, 0) + i * a_batch_stride * a.element_bytes();
    bi.data = b.at(0, 0) + i * b_batch_stride * b.element_bytes();
    float* const ci = c + i * c_batch_stride;
    if (epilogue.apply == nullptr && detail::done_by_other({m, n, k, ai, bi, ci, ldc, mode, precision}, by)) return;
    detail::gemm_one({m, n, k, ai, bi, ci, ldc, mode, epilogue, {}, i * m}, kernels, width_of_team);
  };
  const bool spread = threads > 1 && (batch >= 4 * threads || (batch > 1 && m * n * k < 4'000'000));
  if (spread) {
    parallel_for(batch, [&](std::int64_t i) { product(i, 1); });
  } else {
    for (std::int64_t i = 0; i < batch; ++i) product(i, threads);
  }
}

}  // namespace tokamax::cpu_backend
