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

/// How threads share rows: `group` threads a row, each of which keeps `vectors` times `width` neighbouring elements of it.
struct row_shape {
  std::int64_t rows = 0, columns = 0;
  int width = 1, group = 32, vectors = 1;

  /// All of `arrays` have rows of as many elements as the first one, or are such a row.
  explicit row_shape(std::initializer_list<const array_view*> arrays) {
    const array_view& x = **arrays.begin();
    columns = x.extent(-1);
    rows = columns > 0 ? x.size() / columns : 0;
    width = 16 / size_of(x.type);
    const auto is_aligned = [&] {
      for (const array_view* v : arrays)
        if (reinterpret_cast<std::uintptr_t>(v->data) % static_cast<unsigned>(std::min(16, width * size_of(v->type))))
          return false;
      return columns % width == 0;
    };
    while (width > 1 && !is_aligned()) width /= 2;
  }
  /// Chooses the smallest group, a warp or a block, whose threads keep at most so many elements each. Few rows get larger
  /// groups, so that all of the GPU has work. False if no group is large enough.
  bool share(int most_elements) {
    constexpr int most_group = 512;
    const std::int64_t all = ceil_div(columns, width), most = std::max(1, most_elements / width);
    const auto too_few = [&] { return group < 256 && all > 2 * group && rows * group < 65536; };
    while (group < most_group && (all > group * most || too_few())) group *= 2;
    vectors = static_cast<int>(std::max<std::int64_t>(1, ceil_div(all, group)));
    return all <= group * most;
  }
  unsigned threads() const { return group > 32 ? static_cast<unsigned>(group) : block_threads; }
  std::int64_t blocks() const { return ceil_div(rows * group, threads()); }
};

/// Launches a kernel of the norms for the dtypes of x and of its parameters.
inline void launch_norm(const kernel_arguments& a, const char* name, const char* data, const row_shape& s, bool centred,
                        std::int64_t blocks, const kernel_record& r) {
  launch_template(instance_of(a), cuda_text::norm, name, data,
                  {tokamax::name(a.in[0].type), tokamax::name(a.in[1].type), std::to_string(s.group),
                   std::to_string(s.width), std::to_string(s.vectors), centred ? "true" : "false"},
                  blocks, r, s.threads());
}
inline std::int64_t epsilon_bits(const kernel_arguments& a) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(a.attrs<norm_attributes>().epsilon));
}

inline void norm(const op& o, const kernel_arguments& a, bool centred) {
  row_shape s({&a.in[0], &a.in[1], &a.in[centred ? 2 : 1], &a.out[0]});
  if (a.in[0].type == f64 || a.in[1].type == f64 || !s.share(128)) return run_composed(o, a);
  kernel_record r;
  r.add(s.rows).add(s.columns).add(epsilon_bits(a));
  r.add(a.in[0].data).add(a.in[1].data).add(centred ? a.in[2].data : nullptr).add(a.out[0].data);
  launch_norm(a, "norm_forward", "norm_data", s, centred, s.blocks(), r);
}

/// dx and sums over the rows of each block first, then sums over the blocks. Their number is what keeps a large GPU busy, if
/// a group then has a few rows at least.
inline void norm_backward(const op& o, const kernel_arguments& a, bool centred) {
  row_shape s({&a.in[0], &a.in[1], &a.in[2], &a.out[0]});
  if (a.in[0].type == f64 || a.in[1].type == f64 || a.in[0].size() == 0 || !s.share(24)) return run_composed(o, a);
  instance& gpu = instance_of(a);
  const std::int64_t groups = s.threads() / static_cast<unsigned>(s.group), busy = 264 * 256 / s.threads();
  const std::int64_t chunks = std::clamp<std::int64_t>(ceil_div(s.rows, 4 * groups), 1, busy);
  const handle partial = gpu.allocate(static_cast<std::size_t>(chunks * 2 * s.columns) * sizeof(float));
  kernel_record rows;
  rows.add(s.rows).add(s.columns).add(epsilon_bits(a)).add(a.in[0].data).add(a.in[1].data).add(a.in[2].data);
  rows.add(a.out[0].data).add(partial->data);
  launch_norm(a, "norm_backward", "norm_backward_data", s, centred, chunks, rows);
  kernel_record parameters;
  parameters.add(s.columns).add(chunks).add(partial->data).add(a.out[1].data).add(centred ? a.out[2].data : nullptr);
  launch_template(gpu, cuda_text::norm, "norm_parameters", "norm_parameters_data", {name(a.in[1].type)},
                  ceil_div(s.columns, 32), parameters, 512, centred ? 2 : 1);
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
