// tokamax/backend/cuda/kernels/cross_entropy.hpp: the loss of rows of logits in one pass, and its gradient in another.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/device.hpp>              // cuda_tag
#include <tokamax/backend/cuda/kernels/composed.hpp>    // run_composed
#include <tokamax/backend/cuda/launch.hpp>              // launch_template
#include <tokamax/backend/cuda/text/cross_entropy.hpp>  // cross_entropy
#include <tokamax/ops/cross_entropy.hpp>                // cross_entropy_p

namespace tokamax {

namespace cuda_backend {
/// Launches a kernel with a block for each row of `logits`. The rows of all `arrays` must then begin at the same places between
/// vectors, or elements are read singly.
inline void launch_on_rows(const kernel_arguments& a, const char* name, const char* data,
                           std::initializer_list<const array_view*> arrays, const kernel_record& r) {
  const array_view& logits = a.in[0];
  const std::int64_t columns = logits.extent(-1);
  const auto address = [](const array_view* v) { return reinterpret_cast<std::uintptr_t>(v->data) % 16; };
  int width = 16 / size_of(logits.type);
  for (const array_view* v : arrays)
    if (address(v) != address(*arrays.begin())) width = 1;
  const unsigned threads = columns > 8192 ? 256 : columns > 1024 ? 128 : 32;
  launch_template(instance_of(a), cuda_text::cross_entropy, name, data,
                  {tokamax::name(logits.type), std::to_string(width)}, logits.size() / columns, r, threads);
}
}  // namespace cuda_backend

TOKAMAX_BODY void kernel(op_c<cross_entropy_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  if (a.in[0].type == f64 || a.in[0].size() == 0) return run_composed(cross_entropy_p, a);
  kernel_record r;
  r.add(a.in[0].extent(-1)).add(a.in[0].data).add(a.in[1].data);
  r.add(a.out[0].data).add(a.out[1].data).add(a.out[2].data);
  launch_on_rows(a, "cross_entropy_forward", "cross_entropy_data", {&a.in[0]}, r);
}

TOKAMAX_BODY void kernel(op_c<cross_entropy_vjp_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  if (a.in[0].type == f64 || a.in[0].size() == 0) return run_composed(cross_entropy_vjp_p, a);
  kernel_record r;
  r.add(a.in[0].extent(-1)).add(a.in[0].data).add(a.in[1].data).add(a.in[2].data).add(a.in[3].data).add(a.in[4].data);
  r.add(a.out[0].data);
  launch_on_rows(a, "cross_entropy_backward", "cross_entropy_backward_data", {&a.in[0], &a.out[0]}, r);
}

}  // namespace tokamax
