// tokamax/backend/cpu/kernels/scaled_dot.hpp: scaled_dot as products of int8 with an epilogue.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/quantized/scaled_dot.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>            // cpu_tag
#include <tokamax/backend/cpu/gemm/scaled_int8.hpp>  // scaled_int8_gemm
#include <tokamax/ops/quantized/scaled_dot.hpp>      // scaled_dot_p
#include <tokamax/runtime/kernel.hpp>                // kernel_arguments

namespace tokamax {

template <>
inline constexpr bool takes_views<scaled_dot_p> = true;

inline void kernel(op_c<scaled_dot_p>, cpu_tag, const kernel_arguments& a) {
  const array_view &lhs = a.in[0], &rhs = a.in[1], &row = a.in[2], &column = a.in[3];
  const std::int64_t m = lhs.extent(1), n = rhs.extent(2);
  const auto matrix = [](const array_view& v, std::int64_t i) {
    return cpu_backend::matrix_view{v.as<const std::int8_t>() + i * v.stride(0), v.stride(1), v.stride(2),
                                    cpu_backend::gemm_element::int8};
  };
  for (std::int64_t i = 0; i < lhs.extent(0); ++i)
    cpu_backend::scaled_int8_gemm({m, n, lhs.extent(2), row.extent(2), matrix(lhs, i), matrix(rhs, i),
                                   row.as<const float>() + i * row.stride(0), row.stride(1), row.stride(2),
                                   column.as<const float>() + i * column.stride(0), column.stride(1), column.stride(2),
                                   a.out[0].as<float>() + i * m * n});
}

}  // namespace tokamax
