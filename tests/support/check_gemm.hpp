// tests/support/check_gemm.hpp: what any implementation of matrix products must compute.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/gemm/choose/implementation.hpp>
#include <tokamax/backend/cpu/gemm/choose/key.hpp>
#include <tokamax/base/bfloat16.hpp>

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

/// Does the implementation claim that it can multiply such operands?
inline bool takes(const tokamax::cpu_backend::gemm_implementation& by, tokamax::cpu_backend::gemm_element a,
                  tokamax::cpu_backend::gemm_element b, tokamax::cpu_backend::gemm_precision precision) {
  return by.can({8,
                 8,
                 8,
                 {nullptr, 8, 1, a},
                 {nullptr, 8, 1, b},
                 nullptr,
                 8,
                 tokamax::cpu_backend::gemm_mode::assign,
                 precision});
}

/// Compares products of T with sums in double: in all layouts, with and without gaps between rows, assigned and added.
/// int8 must be exact, and other types within k roundings. Memory between the rows of C must not change.
template <class T>
void check_gemm(const tokamax::cpu_backend::gemm_implementation& by, tokamax::cpu_backend::gemm_precision precision) {
  namespace cpu_backend = tokamax::cpu_backend;
  constexpr bool whole = std::is_same_v<T, std::int8_t>;
  using sum_type = std::conditional_t<whole, std::int32_t, float>;
  constexpr auto element = whole                      ? cpu_backend::gemm_element::int8
                           : std::is_same_v<T, float> ? cpu_backend::gemm_element::f32
                                                      : cpu_backend::gemm_element::bfloat16;
  std::uint32_t seed = 1;
  const auto random = [&](std::int64_t n) {
    std::vector<T> x(static_cast<std::size_t>(n));
    for (T& v : x) {
      seed = seed * 1664525u + 1013904223u;
      if constexpr (whole)
        v = static_cast<T>(seed >> 24);
      else
        v = T(static_cast<float>(seed >> 8) / 8388608.0f - 1.0f);
    }
    return x;
  };
  struct extents {
    std::int64_t m, n, k;
  };
  for (const auto [m, n, k] : {extents{1, 1, 1}, {1, 70, 33}, {5, 1, 40}, {13, 17, 1}, {33, 47, 129}, {150, 64, 300}})
    for (int form = 0; form < 16; ++form) {
      const bool turned_a = form & 1, turned_b = form & 2, add = form & 8;
      const std::int64_t gap = form & 4 ? 5 : 0, ldc = n + gap;
      const std::int64_t lda = (turned_a ? m : k) + gap, ldb = (turned_b ? k : n) + gap;
      const auto a = random(lda * (turned_a ? k : m)), b = random(ldb * (turned_b ? n : k));
      cpu_backend::matrix_view va{a.data(), turned_a ? 1 : lda, turned_a ? lda : 1, element},
          vb{b.data(), turned_b ? 1 : ldb, turned_b ? ldb : 1, element};
      REQUIRE((cpu_backend::detail::straighten(va, m, k) && cpu_backend::detail::straighten(vb, k, n)));
      std::vector<sum_type> c(static_cast<std::size_t>(m * ldc), sum_type(3));
      const cpu_backend::gemm_product p{
          m,        n,
          k,        va,
          vb,       reinterpret_cast<float*>(c.data()),
          ldc,      add ? cpu_backend::gemm_mode::accumulate : cpu_backend::gemm_mode::assign,
          precision};
      CAPTURE(by.name, m, n, k, form);
      REQUIRE(by.can(p));
      by.run(p);
      double worst = 0;  // in units of the bound
      const auto value = [](const cpu_backend::matrix_view& v, std::int64_t i, std::int64_t j) {
        return static_cast<double>(*reinterpret_cast<const T*>(v.at(i, j)));
      };
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < ldc; ++j) {
          double sum = add || j >= n ? 3 : 0, size = sum;
          for (std::int64_t q = 0; j < n && q < k; ++q) {
            const double term = value(va, i, q) * value(vb, q, j);
            sum += term;
            size += std::fabs(term);
          }
          const double bound = whole || j >= n ? 0.5 : size * 6e-8 * static_cast<double>(k + 2) + 1e-30;
          worst =
              std::fmax(worst, std::fabs(static_cast<double>(c[static_cast<std::size_t>(i * ldc + j)]) - sum) / bound);
        }
      REQUIRE(worst < 1.0);
    }
}
