// tokamax/backend/cuda/kernels/softmax.hpp: softmax over rows and its gradient, which read memory once.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/device.hpp>             // cuda_tag
#include <tokamax/backend/cuda/kernels/composed.hpp>   // run_composed
#include <tokamax/backend/cuda/kernels/row_shape.hpp>  // row_shape
#include <tokamax/backend/cuda/text/softmax.hpp>       // softmax
#include <tokamax/ops/softmax.hpp>                     // softmax_p

namespace tokamax {

namespace cuda_backend {
inline void launch_softmax(const kernel_arguments& a, const char* name, const row_shape& s) {
  const bool backward = a.in_count > 1;
  kernel_record r;
  r.add(s.rows).add(s.columns).add(a.in[0].data).add(backward ? a.in[1].data : nullptr).add(a.out[0].data);
  const std::string_view type = tokamax::name(a.in[0].type);
  const std::string group = std::to_string(s.group), width = std::to_string(s.width), count = std::to_string(s.vectors);
  const std::string text = joined({cuda_text::row_part, cuda_text::softmax});
  if (backward)
    launch_template(instance_of(a), text, name, "softmax_data",
                    {type, tokamax::name(a.in[1].type), group, width, count}, s.blocks(), r, s.threads());
  else
    launch_template(instance_of(a), text, name, "softmax_data", {type, group, width, count}, s.blocks(), r,
                    s.threads());
}
}  // namespace cuda_backend

TOKAMAX_BODY void kernel(op_c<softmax_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::row_shape s({&a.in[0], &a.out[0]});
  if (a.in[0].type == f64 || !s.share(s.elements_in_registers(a.in[0].type)))
    return cuda_backend::run_composed(softmax_p, a);
  cuda_backend::launch_softmax(a, "softmax_forward", s);
}
TOKAMAX_BODY void kernel(op_c<softmax_vjp_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::row_shape s({&a.in[0], &a.in[1], &a.out[0]});
  const dtype wider = size_of(a.in[0].type) < size_of(a.in[1].type) ? a.in[1].type : a.in[0].type;
  if (wider == f64 || !s.share(s.elements_in_registers(wider) / 2)) return cuda_backend::run_composed(softmax_vjp_p, a);
  cuda_backend::launch_softmax(a, "softmax_backward", s);
}

}  // namespace tokamax
