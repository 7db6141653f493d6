// tokamax/backend/cpu/kernels/norm.hpp: layer_norm, rms_norm and their gradients, one pass over the rows each.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/layer_norm.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>         // cpu_tag
#include <tokamax/backend/cpu/row_ops/norm.hpp>   // the row routines
#include <tokamax/backend/cpu/vector/floats.hpp>  // dense_floats, float_result
#include <tokamax/ops/layer_norm.hpp>             // layer_norm_p, rms_norm_p

namespace tokamax {

/// y [rows, cols] from x, scale [cols] and offset [cols], in one pass over the rows.
inline void kernel(op_c<layer_norm_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const cpu_backend::float_result<struct layer_norm_y> y(a.out[0]);
  cpu_backend::layer_norm(rows, cols, cpu_backend::dense_floats<struct layer_norm_x>(a.in[0]),
                          cpu_backend::dense_floats<struct layer_norm_scale>(a.in[1]),
                          cpu_backend::dense_floats<struct layer_norm_offset>(a.in[2]),
                          static_cast<float>(a.attrs<norm_attributes>().epsilon), y.data());
}

/// {dx, dscale, doffset}; the moments are computed again.
inline void kernel(op_c<layer_norm_vjp_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const cpu_backend::float_result<struct layer_norm_dx> dx(a.out[0]);
  const cpu_backend::float_result<struct layer_norm_dscale> dscale(a.out[1]);
  const cpu_backend::float_result<struct layer_norm_doffset> doffset(a.out[2]);
  cpu_backend::layer_norm_backward(rows, cols, cpu_backend::dense_floats<struct layer_norm_x>(a.in[0]),
                                   cpu_backend::dense_floats<struct layer_norm_scale>(a.in[1]),
                                   cpu_backend::dense_floats<struct layer_norm_ct>(a.in[2]),
                                   static_cast<float>(a.attrs<norm_attributes>().epsilon), dx.data(), dscale.data(),
                                   doffset.data());
}

/// y [rows, cols] from x and scale [cols], in one pass over the rows.
inline void kernel(op_c<rms_norm_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const cpu_backend::float_result<struct rms_norm_y> y(a.out[0]);
  cpu_backend::rms_norm(rows, cols, cpu_backend::dense_floats<struct rms_norm_x>(a.in[0]),
                        cpu_backend::dense_floats<struct rms_norm_scale>(a.in[1]),
                        static_cast<float>(a.attrs<norm_attributes>().epsilon), y.data());
}

/// {dx, dscale}; the root mean square is computed again.
inline void kernel(op_c<rms_norm_vjp_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const cpu_backend::float_result<struct rms_norm_dx> dx(a.out[0]);
  const cpu_backend::float_result<struct rms_norm_dscale> dscale(a.out[1]);
  cpu_backend::rms_norm_backward(rows, cols, cpu_backend::dense_floats<struct rms_norm_x>(a.in[0]),
                                 cpu_backend::dense_floats<struct rms_norm_scale>(a.in[1]),
                                 cpu_backend::dense_floats<struct rms_norm_ct>(a.in[2]),
                                 static_cast<float>(a.attrs<norm_attributes>().epsilon), dx.data(), dscale.data());
}

}  // namespace tokamax
