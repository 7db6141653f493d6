// tokamax/backend/cuda/kernels/norm.hpp: layer_norm, rms_norm and their gradients, a warp or a block for each row.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/device.hpp>            // cuda_tag
#include <tokamax/backend/cuda/kernels/composed.hpp>  // run_composed
#include <tokamax/backend/cuda/text/norm.hpp>         // norm
#include <tokamax/ops/layer_norm.hpp>                 // layer_norm_p

#include <bit>  // bit_cast

namespace tokamax {

namespace cuda_backend {

/// How the threads of a device share rows: `group` threads a row, each of which reads `width` elements at once.
struct row_shape {
  std::int64_t rows = 0, columns = 0;
  int width = 1, group = 32;

  row_shape(const array_view& x, std::initializer_list<const void*> addresses) {
    columns = x.extent(-1);
    rows = columns > 0 ? x.size() / columns : 0;
    width = 16 / size_of(x.type);
    const auto is_aligned = [&] {
      for (const void* p : addresses)
        if (reinterpret_cast<std::uintptr_t>(p) % static_cast<unsigned>(width * size_of(x.type))) return false;
      return columns % width == 0;
    };
    while (width > 1 && !is_aligned()) width /= 2;
    group = columns > 2048 ? block_threads : 32;
  }
  std::int64_t blocks() const { return ceil_div(rows * group, block_threads); }
};

/// Launches a kernel of the norms for the dtypes of x and of its parameters.
inline void launch_norm(const kernel_arguments& a, const char* name, const char* data, const row_shape& s, bool centred,
                        const kernel_record& r) {
  launch_template(instance_of(a), cuda_text::norm, name, data,
                  {tokamax::name(a.in[0].type), tokamax::name(a.in[1].type), std::to_string(s.group),
                   std::to_string(s.width), centred ? "true" : "false"},
                  s.blocks(), r);
}
inline std::int64_t epsilon_bits(const kernel_arguments& a) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(a.attrs<norm_attributes>().epsilon));
}

inline void norm(const op& o, const kernel_arguments& a, bool centred) {
  if (a.in[0].type == f64 || a.in[1].type == f64) return run_composed(o, a);
  const row_shape s(a.in[0], {a.in[0].data, a.out[0].data});
  kernel_record r;
  r.add(s.rows).add(s.columns).add(epsilon_bits(a));
  r.add(a.in[0].data).add(a.in[1].data).add(centred ? a.in[2].data : nullptr).add(a.out[0].data);
  launch_norm(a, "norm_forward", "norm_data", s, centred, r);
}

/// dx and the moments of rows first, then sums over chunks of rows, then sums over chunks.
inline void norm_backward(const op& o, const kernel_arguments& a, bool centred) {
  if (a.in[0].type == f64 || a.in[1].type == f64 || a.in[0].size() == 0) return run_composed(o, a);
  instance& gpu = instance_of(a);
  const row_shape s(a.in[0], {a.in[0].data, a.in[2].data, a.out[0].data});
  const std::int64_t columns_of_block = 32 * s.width, across = ceil_div(s.columns, columns_of_block);
  const std::int64_t chunk = std::max<std::int64_t>(64, ceil_div(s.rows * across, 2048)),
                     chunks = ceil_div(s.rows, chunk);
  const std::size_t moments_bytes = static_cast<std::size_t>(s.rows) * 2 * sizeof(float);
  const handle scratch = gpu.allocate(moments_bytes + static_cast<std::size_t>(chunks * 2 * s.columns) * sizeof(float));
  std::byte* const partial = scratch->data + moments_bytes;
  kernel_record rows;
  rows.add(s.rows).add(s.columns).add(epsilon_bits(a)).add(a.in[0].data).add(a.in[1].data).add(a.in[2].data);
  rows.add(a.out[0].data).add(scratch->data);
  launch_norm(a, "norm_backward", "norm_backward_data", s, centred, rows);
  kernel_record sums;
  sums.add(s.rows).add(s.columns).add(chunk).add(a.in[0].data).add(a.in[2].data).add(scratch->data).add(partial);
  launch_template(gpu, cuda_text::norm, "norm_sums", "norm_sums_data", {name(a.in[0].type), std::to_string(s.width)},
                  across, sums, block_threads, chunks);
  kernel_record parameters;
  parameters.add(s.columns).add(chunks).add(partial).add(a.out[1].data).add(centred ? a.out[2].data : nullptr);
  launch_template(gpu, cuda_text::norm, "norm_parameters", "norm_parameters_data", {name(a.in[1].type)},
                  ceil_div(s.columns, 64), parameters, 64);
}

}  // namespace cuda_backend

inline void kernel(op_c<layer_norm_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::norm(layer_norm_p, a, true);
}
inline void kernel(op_c<rms_norm_p>, cuda_tag, const kernel_arguments& a) { cuda_backend::norm(rms_norm_p, a, false); }
inline void kernel(op_c<layer_norm_vjp_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::norm_backward(layer_norm_vjp_p, a, true);
}
inline void kernel(op_c<rms_norm_vjp_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::norm_backward(rms_norm_vjp_p, a, false);
}

}  // namespace tokamax
