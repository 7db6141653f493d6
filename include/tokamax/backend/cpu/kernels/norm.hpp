// tokamax/backend/cpu/kernels/norm.hpp: layer_norm, rms_norm and their gradients, one pass over the rows each.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/layer_norm.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>         // cpu_tag
#include <tokamax/backend/cpu/row_ops/norm.hpp>   // the row routines
#include <tokamax/backend/cpu/vector/floats.hpp>  // dense_floats, float_result
#include <tokamax/ops/layer_norm.hpp>             // layer_norm_p, rms_norm_p

namespace tokamax {

/// y [rows, cols] from x, scale [cols] and offset [cols], in one pass over the rows. Dense bf16 is read and written as it is.
inline void kernel(op_c<layer_norm_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const auto epsilon = static_cast<float>(a.attrs<norm_attributes>().epsilon);
  const float* const scale = cpu_backend::dense_floats<struct layer_norm_scale>(a.in[1]);
  const float* const offset = cpu_backend::dense_floats<struct layer_norm_offset>(a.in[2]);
  if (a.in[0].type == bf16 && cpu_backend::is_dense(a.in[0]))
    return cpu_backend::layer_norm(rows, cols, a.in[0].as<const bfloat16>(), scale, offset, epsilon,
                                   a.out[0].as<bfloat16>());
  const cpu_backend::float_result<struct layer_norm_y> y(a.out[0]);
  cpu_backend::layer_norm(rows, cols, cpu_backend::dense_floats<struct layer_norm_x>(a.in[0]), scale, offset, epsilon,
                          y.data());
}

/// {dx, dscale, doffset}; the moments are computed again.
inline void kernel(op_c<layer_norm_vjp_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const auto epsilon = static_cast<float>(a.attrs<norm_attributes>().epsilon);
  const float* const scale = cpu_backend::dense_floats<struct layer_norm_scale>(a.in[1]);
  const cpu_backend::float_result<struct layer_norm_dscale> dscale(a.out[1]);
  const cpu_backend::float_result<struct layer_norm_doffset> doffset(a.out[2]);
  if (a.in[0].type == bf16 && a.in[2].type == bf16 && cpu_backend::is_dense(a.in[0]) && cpu_backend::is_dense(a.in[2]))
    return cpu_backend::layer_norm_backward(rows, cols, a.in[0].as<const bfloat16>(), scale,
                                            a.in[2].as<const bfloat16>(), epsilon, a.out[0].as<bfloat16>(),
                                            dscale.data(), doffset.data());
  const cpu_backend::float_result<struct layer_norm_dx> dx(a.out[0]);
  cpu_backend::layer_norm_backward(rows, cols, cpu_backend::dense_floats<struct layer_norm_x>(a.in[0]), scale,
                                   cpu_backend::dense_floats<struct layer_norm_ct>(a.in[2]), epsilon, dx.data(),
                                   dscale.data(), doffset.data());
}

/// y [rows, cols] from x and scale [cols], in one pass over the rows. Dense bf16 is read and written as it is.
inline void kernel(op_c<rms_norm_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const auto epsilon = static_cast<float>(a.attrs<norm_attributes>().epsilon);
  const float* const scale = cpu_backend::dense_floats<struct rms_norm_scale>(a.in[1]);
  if (a.in[0].type == bf16 && cpu_backend::is_dense(a.in[0]))
    return cpu_backend::rms_norm(rows, cols, a.in[0].as<const bfloat16>(), scale, epsilon, a.out[0].as<bfloat16>());
  const cpu_backend::float_result<struct rms_norm_y> y(a.out[0]);
  cpu_backend::rms_norm(rows, cols, cpu_backend::dense_floats<struct rms_norm_x>(a.in[0]), scale, epsilon, y.data());
}

/// {dx, dscale}; the root mean square is computed again.
inline void kernel(op_c<rms_norm_vjp_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const auto epsilon = static_cast<float>(a.attrs<norm_attributes>().epsilon);
  const float* const scale = cpu_backend::dense_floats<struct rms_norm_scale>(a.in[1]);
  const cpu_backend::float_result<struct rms_norm_dscale> dscale(a.out[1]);
  if (a.in[0].type == bf16 && a.in[2].type == bf16 && cpu_backend::is_dense(a.in[0]) && cpu_backend::is_dense(a.in[2]))
    return cpu_backend::rms_norm_backward(rows, cols, a.in[0].as<const bfloat16>(), scale, a.in[2].as<const bfloat16>(),
                                          epsilon, a.out[0].as<bfloat16>(), dscale.data());
  const cpu_backend::float_result<struct rms_norm_dx> dx(a.out[0]);
  cpu_backend::rms_norm_backward(rows, cols, cpu_backend::dense_floats<struct rms_norm_x>(a.in[0]), scale,
                                 cpu_backend::dense_floats<struct rms_norm_ct>(a.in[2]), epsilon, dx.data(),
                                 dscale.data());
}

}  // namespace tokamax
