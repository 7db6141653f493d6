// tokamax/backend/cpu/kernels/rms_norm.hpp: rms_norm and its gradients, one pass over the rows each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>         // cpu_tag
#include <tokamax/backend/cpu/row_ops/norm.hpp>   // the row routines
#include <tokamax/backend/cpu/vector/floats.hpp>  // dense_floats, float_result
#include <tokamax/ops/rms_norm.hpp>               // rms_norm_p

namespace tokamax {

/// y [rows, cols] from x and scale [cols], in one pass over the rows.
inline void kernel(op_c<rms_norm_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const cpu_backend::float_result<struct rms_norm_y> y(a.out[0]);
  cpu_backend::rms_norm(rows, cols, cpu_backend::dense_floats<struct rms_norm_x>(a.in[0]),
                        cpu_backend::dense_floats<struct rms_norm_scale>(a.in[1]),
                        static_cast<float>(a.attrs<rms_norm_options>().epsilon), y.data());
}

/// {dx, dscale}; the root mean square is computed again.
inline void kernel(op_c<rms_norm_vjp_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const cpu_backend::float_result<struct rms_norm_dx> dx(a.out[0]);
  const cpu_backend::float_result<struct rms_norm_dscale> dscale(a.out[1]);
  cpu_backend::rms_norm_backward(rows, cols, cpu_backend::dense_floats<struct rms_norm_x>(a.in[0]),
                                 cpu_backend::dense_floats<struct rms_norm_scale>(a.in[1]),
                                 cpu_backend::dense_floats<struct rms_norm_ct>(a.in[2]),
                                 static_cast<float>(a.attrs<rms_norm_options>().epsilon), dx.data(), dscale.data());
}

}  // namespace tokamax
