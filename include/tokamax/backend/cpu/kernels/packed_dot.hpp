// tokamax/backend/cpu/kernels/packed_dot.hpp: packed_dot as products that decode weights in registers or in panels.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/quantized/packed_dot.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>              // cpu_tag
#include <tokamax/backend/cpu/gemm/coded_product.hpp>  // coded_product
#include <tokamax/ops/quantized/packed_dot.hpp>        // packed_dot_p
#include <tokamax/runtime/kernel.hpp>                  // kernel_arguments

namespace tokamax {

/// One matrix for each batch entry.
inline void kernel(op_c<packed_dot_p>, cpu_tag, const kernel_arguments& a) {
  const array_view &x = a.in[0], &codes = a.in[1], &scale = a.in[2];
  const auto o = a.attrs<packed_dot_options>();
  const std::int64_t m = x.extent(1), k = x.extent(2);
  const std::int64_t of_codes = codes.extent(1) * codes.extent(2) * codes.extent(3) * size_of(codes.type),
                     of_scale = scale.extent(1) * scale.extent(2) * scale.extent(3) * size_of(scale.type);
  for (std::int64_t i = 0; i < x.extent(0); ++i)
    cpu_backend::coded_product(m, x.as<const float>() + i * m * k,
                               {o.format, k, o.columns, scale.extent(2), scale.type == f16,
                                codes.as<const std::byte>() + i * of_codes, scale.as<const std::byte>() + i * of_scale,
                                a.in_count == 4 ? a.in[3].as<const std::byte>() + i * of_scale : nullptr},
                               a.out[0].as<float>() + i * m * o.columns);
}

}  // namespace tokamax
