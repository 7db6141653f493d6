// tokamax/backend/cpu/kernels/packed_dot.hpp: packed_dot and packed_ragged_dot as products that decode weights in registers or in panels.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/quantized/packed_dot.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>               // cpu_tag
#include <tokamax/backend/cpu/gemm/coded_product.hpp>   // coded_product
#include <tokamax/ops/quantized/packed_dot.hpp>         // packed_dot_p
#include <tokamax/ops/quantized/packed_ragged_dot.hpp>  // packed_ragged_dot_p
#include <tokamax/runtime/kernel.hpp>                   // kernel_arguments

#include <algorithm>  // clamp, fill_n

namespace tokamax {

namespace cpu_backend::detail {

/// Matrix i of the operands codes, scale and maybe offset, which begin at operand `first`.
inline coded_matrix matrix_of_codes(const kernel_arguments& a, int first, std::int64_t k, std::int64_t i) {
  const array_view &codes = a.in[first], &scale = a.in[first + 1];
  const auto o = a.attrs<packed_dot_options>();
  const auto bytes = [](const array_view& v) { return v.extent(1) * v.extent(2) * v.extent(3) * size_of(v.type); };
  const auto at = [&](const array_view& v) { return v.as<const std::byte>() + i * bytes(v); };
  return {o.format,          k,         o.columns, scale.extent(2),
          scale.type == f16, at(codes), at(scale), a.in_count > first + 2 ? at(a.in[first + 2]) : nullptr};
}

}  // namespace cpu_backend::detail

/// One matrix for each batch entry.
inline void kernel(op_c<packed_dot_p>, cpu_tag, const kernel_arguments& a) {
  const array_view& x = a.in[0];
  const std::int64_t m = x.extent(1), k = x.extent(2), n = a.out[0].extent(2);
  for (std::int64_t i = 0; i < x.extent(0); ++i)
    cpu_backend::coded_product(m, x.as<const float>() + i * m * k, cpu_backend::detail::matrix_of_codes(a, 1, k, i),
                               a.out[0].as<float>() + i * m * n);
}

/// One product for each group of rows.
inline void kernel(op_c<packed_ragged_dot_p>, cpu_tag, const kernel_arguments& a) {
  const array_view &x = a.in[0], &sizes = a.in[1];
  const std::int64_t rows = x.extent(0), k = x.extent(1), n = a.out[0].extent(1);
  float* const y = a.out[0].as<float>();
  std::int64_t at = 0;
  for (std::int64_t g = 0; g < sizes.extent(0); ++g) {
    const std::int64_t m = std::clamp<std::int64_t>(sizes.as<const std::int32_t>()[g], 0, rows - at);
    if (m > 0)
      cpu_backend::coded_product(m, x.as<const float>() + at * k, cpu_backend::detail::matrix_of_codes(a, 2, k, g),
                                 y + at * n);
    at += m;
  }
  std::fill_n(y + at * n, (rows - at) * n, 0.0f);
}

}  // namespace tokamax
