// tokamax/backend/eigen/gemm.hpp: matrix products by Eigen.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (who wants Eigen's products includes it)
#pragma once

#include <tokamax/backend/cpu/gemm/choose/implementation.hpp>  // gemm_implementation
#include <tokamax/backend/cpu/gemm/choose/offered.hpp>         // offered

#include <Eigen/Core>

namespace tokamax::eigen {

namespace detail {

template <int Order>
using matrix = Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Order>, Eigen::Unaligned,
                          Eigen::OuterStride<>>;

template <int A, int B>
void multiply(const cpu_backend::gemm_product& p) noexcept {
  const matrix<A> a(p.a.f32_at(0, 0), p.m, p.k, Eigen::OuterStride<>(cpu_backend::leading_stride(p.a)));
  const matrix<B> b(p.b.f32_at(0, 0), p.k, p.n, Eigen::OuterStride<>(cpu_backend::leading_stride(p.b)));
  using rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<rows, Eigen::Unaligned, Eigen::OuterStride<>> c(p.c, p.m, p.n, Eigen::OuterStride<>(p.ldc));
  if (p.mode == cpu_backend::gemm_mode::assign)
    c.noalias() = a * b;
  else
    c.noalias() += a * b;
}

inline bool can(const cpu_backend::gemm_product& p) noexcept {
  using cpu_backend::gemm_element;
  return p.a.element == gemm_element::f32 && p.b.element == gemm_element::f32 &&
         p.precision == cpu_backend::gemm_precision::f32;
}

inline void run(const cpu_backend::gemm_product& p) noexcept {
  constexpr int rows = Eigen::RowMajor, columns = Eigen::ColMajor;
  if (is_transposed(p.a))
    is_transposed(p.b) ? multiply<columns, columns>(p) : multiply<columns, rows>(p);
  else
    is_transposed(p.b) ? multiply<rows, columns>(p) : multiply<rows, rows>(p);
}

}  // namespace detail

/// Eigen's products, for `use_implementation("dot_general", "eigen")`, autotune, and blas::choices().add(eigen::gemm).
///
/// dtypes  a, b f32, multiplied in f32
inline constexpr cpu_backend::gemm_implementation gemm{"eigen", detail::can, detail::run};

namespace detail {
inline const bool is_offered = cpu_backend::offered().add(gemm);  // to dot_general, for programs that include this
}

}  // namespace tokamax::eigen
