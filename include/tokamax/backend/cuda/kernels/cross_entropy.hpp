// tokamax/backend/cuda/kernels/cross_entropy.hpp: the loss of rows of logits in one pass, and its gradient in another.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/kernels/norm.hpp>        // row_shape
#include <tokamax/backend/cuda/text/cross_entropy.hpp>  // cross_entropy
#include <tokamax/ops/cross_entropy.hpp>                // cross_entropy_p

namespace tokamax {

namespace cuda_backend {
/// Launches a kernel with a block for each row.
inline void launch_on_rows(const kernel_arguments& a, const char* name, const char* data, const row_shape& s,
                           const kernel_record& r) {
  const unsigned threads = s.columns > 8192 ? 512 : s.columns > 1024 ? 128 : 32;
  launch_template(instance_of(a), cuda_text::cross_entropy, name, data,
                  {tokamax::name(a.in[0].type), std::to_string(s.width)}, s.rows, r, threads);
}
}  // namespace cuda_backend

inline void kernel(op_c<cross_entropy_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  if (a.in[0].type == f64 || a.in[0].size() == 0) return run_composed(cross_entropy_p, a);
  const row_shape s(a.in[0], {a.in[0].data});
  kernel_record r;
  r.add(s.columns).add(a.in[0].data).add(a.in[1].data);
  r.add(a.out[0].data).add(a.out[1].data).add(a.out[2].data);
  launch_on_rows(a, "cross_entropy_forward", "cross_entropy_data", s, r);
}

inline void kernel(op_c<cross_entropy_vjp_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  if (a.in[0].type == f64 || a.in[0].size() == 0) return run_composed(cross_entropy_vjp_p, a);
  const row_shape s(a.in[0], {a.in[0].data, a.out[0].data});
  kernel_record r;
  r.add(s.columns).add(a.in[0].data).add(a.in[1].data).add(a.in[2].data).add(a.in[3].data).add(a.in[4].data);
  r.add(a.out[0].data);
  launch_on_rows(a, "cross_entropy_backward", "cross_entropy_backward_data", s, r);
}

}  // namespace tokamax
