// tokamax/backend/cpu/kernels/mixed_dot.hpp: mixed_dot as products that convert numbers of 8 bits in registers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/quantized/mixed_dot.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>                  // cpu_tag
#include <tokamax/backend/cpu/gemm/few_rows_of_bytes.hpp>  // bytes_gemm
#include <tokamax/backend/cpu/gemm/gemm.hpp>               // gemm
#include <tokamax/backend/cpu/vector/floats.hpp>           // dense_floats, convert_elements
#include <tokamax/ops/quantized/mixed_dot.hpp>             // mixed_dot_p
#include <tokamax/runtime/kernel.hpp>                      // kernel_arguments

#include <algorithm>    // max
#include <type_traits>  // conditional_t

namespace tokamax {

template <>
inline constexpr bool takes_views<mixed_dot_p> = true;

namespace cpu_backend::detail {

/// The type whose bytes are elements of dtype E: integers of 4 bits have a byte of their own.
template <dtype E>
using byte_element =
    std::conditional_t<!is_integer(E), element_t<E>, std::conditional_t<is_signed(E), std::int8_t, std::uint8_t>>;

/// One matrix for each batch entry. Many rows, which only extents that were not known have, are multiplied with floats.
template <dtype E>
void mixed_products(const array_view& lhs, const array_view& rhs, float* to) {
  using B = byte_element<E>;
  const std::int64_t batches = lhs.extent(0), m = lhs.extent(1), k = lhs.extent(2), n = rhs.extent(2);
  const float* const rows = dense_floats<struct mixed_dot_lhs>(lhs);
  for (std::int64_t i = 0; i < batches; ++i) {
    B* const matrix = rhs.as<B>() + i * rhs.stride(0);
    if (m <= most_rows_of_bytes) {
      bytes_gemm<B>({m, n, k, rows + i * m * k, matrix, rhs.stride(1), rhs.stride(2), to + i * m * n});
      continue;
    }
    float* const floats = scratch<struct mixed_dot_rhs>(std::max<std::int64_t>(1, k * n));
    convert_elements<element_t<E>>({matrix, E, {k, n}, {rhs.stride(1), rhs.stride(2)}}, floats);
    gemm(m, n, k, {rows + i * m * k, k, 1}, {floats, n, 1}, to + i * m * n, n, gemm_mode::assign);
  }
}

}  // namespace cpu_backend::detail

inline void kernel(op_c<mixed_dot_p>, cpu_tag, const kernel_arguments& a) {
  const array_view &lhs = a.in[0], &rhs = a.in[1];
  dispatch(rhs.type, [&]<dtype E>() {
    if constexpr (E != bool_ && bits_of(E) <= 8) cpu_backend::detail::mixed_products<E>(lhs, rhs, a.out[0].as<float>());
  });
}

}  // namespace tokamax
