// tokamax/backend/cuda/kernels/norm.hpp: layer_norm, rms_norm and their gradients, a warp or a block for each row.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/device.hpp>             // cuda_tag
#include <tokamax/backend/cuda/kernels/composed.hpp>   // run_composed
#include <tokamax/backend/cuda/kernels/row_shape.hpp>  // row_shape
#include <tokamax/backend/cuda/text/norm.hpp>          // norm
#include <tokamax/ops/layer_norm.hpp>                  // layer_norm_p

#include <bit>  // bit_cast

namespace tokamax {

namespace cuda_backend {

/// Launches a kernel of the norms for the dtypes of x and of its parameters.
inline void launch_norm(const kernel_arguments& a, const char* name, const char* data, const row_shape& s, bool centred,
                        std::int64_t blocks, const kernel_record& r) {
  launch_template(instance_of(a), joined({cuda_text::row_part, cuda_text::norm}), name, data,
                  {tokamax::name(a.in[0].type), tokamax::name(a.in[1].type), std::to_string(s.group),
                   std::to_string(s.width), std::to_string(s.vectors), centred ? "true" : "false"},
                  blocks, r, s.threads());
}
inline std::int64_t epsilon_bits(const kernel_arguments& a) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(a.attrs<norm_attributes>().epsilon));
}

inline void norm(const op& o, const kernel_arguments& a, bool centred) {
  row_shape s({&a.in[0], &a.in[1], &a.in[centred ? 2 : 1], &a.out[0]});
  if (a.in[0].type == f64 || a.in[1].type == f64 || !s.share(s.elements_in_registers(a.in[0].type)))
    return run_composed(o, a);
  kernel_record r;
  r.add(s.rows).add(s.columns).add(epsilon_bits(a));
  r.add(a.in[0].data).add(a.in[1].data).add(centred ? a.in[2].data : nullptr).add(a.out[0].data);
  launch_norm(a, "norm_forward", "norm_data", s, centred, s.blocks(), r);
}

/// dx and sums over the rows of each block first, then sums over the blocks. Their number is what keeps the GPU busy, which are
/// 512 threads for each of its multiprocessors, if a group then has a few rows at least.
inline void norm_backward(const op& o, const kernel_arguments& a, bool centred) {
  row_shape s({&a.in[0], &a.in[1], &a.in[2], &a.out[0]});
  if (a.in[0].type == f64 || a.in[1].type == f64 || a.in[0].size() == 0 || !s.share(24)) return run_composed(o, a);
  instance& gpu = instance_of(a);
  const std::int64_t threads = s.threads(), groups = threads / s.group, busy = 512 * gpu.multiprocessors() / threads;
  const std::int64_t chunks = std::max<std::int64_t>(1, std::min(ceil_div(s.rows, 4 * groups), busy));
  const handle partial = gpu.allocate(static_cast<std::size_t>(chunks * 2 * s.columns) * sizeof(float));
  kernel_record rows;
  rows.add(s.rows).add(s.columns).add(epsilon_bits(a)).add(a.in[0].data).add(a.in[1].data).add(a.in[2].data);
  rows.add(a.out[0].data).add(partial->data);
  launch_norm(a, "norm_backward", "norm_backward_data", s, centred, chunks, rows);
  kernel_record parameters;
  parameters.add(s.columns).add(chunks).add(partial->data).add(a.out[1].data).add(centred ? a.out[2].data : nullptr);
  launch_template(gpu, joined({cuda_text::row_part, cuda_text::norm}), "norm_parameters", "norm_parameters_data",
                  {name(a.in[1].type)}, ceil_div(s.columns, 32), parameters, 512, centred ? 2 : 1);
}

}  // namespace cuda_backend

TOKAMAX_BODY void kernel(op_c<layer_norm_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::norm(layer_norm_p, a, true);
}
TOKAMAX_BODY void kernel(op_c<rms_norm_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::norm(rms_norm_p, a, false);
}
TOKAMAX_BODY void kernel(op_c<layer_norm_vjp_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::norm_backward(layer_norm_vjp_p, a, true);
}
TOKAMAX_BODY void kernel(op_c<rms_norm_vjp_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::norm_backward(rms_norm_vjp_p, a, false);
}

}  // namespace tokamax
