// tokamax/backend/cpu/kernels/conv.hpp: convolutions, and the gradients of their windows.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/windows/conv.cpp
#pragma once

#include <tokamax/backend/cpu/conv/convolution.hpp>      // conv_problem
#include <tokamax/backend/cpu/conv/window_gradient.hpp>  // conv_rhs_vjp
#include <tokamax/backend/cpu/device.hpp>                // cpu_tag
#include <tokamax/backend/cpu/vector/floats.hpp>         // dense_floats, float_result
#include <tokamax/lax/windows/conv.hpp>                  // conv_general_dilated_p, conv_rhs_vjp_p

#include <algorithm>  // fill_n

namespace tokamax {

/// Chooses the method by shape: one channel in each group, few places in a row, or the general case.
inline void kernel(op_c<conv_general_dilated_p>, cpu_tag, const kernel_arguments& a) {
  using namespace cpu_backend::detail;
  const array_view &x = a.in[0], &w = a.in[1], &y = a.out[0];
  if (y.size() == 0) return;
  const auto o = a.attrs<conv_options>();
  if (x.type == f64) return conv_f64({x, w, y, o}, x, w, y, o);
  const cpu_backend::float_result<struct conv_result> out(y);
  const conv_problem c{.frame = {x, w, y, o},
                       .image = cpu_backend::dense_floats<struct conv_image>(x),
                       .window = cpu_backend::dense_floats<struct conv_window>(w),
                       .out = out.data(),
                       .image_size = x.size() / x.extent(0),
                       .channels = w.extent(-2),
                       .features = w.extent(-1) / o.feature_groups / o.batch_groups,
                       .feature_groups = o.feature_groups,
                       .batch_groups = o.batch_groups};
  if (c.depth() == 0)
    std::fill_n(c.out, y.size(), 0.0f);
  else if (c.channels == 1 && c.feature_groups > 1)
    conv_depthwise(c);
  else if (c.frame.last.places < 4)
    conv_unrolled(c);
  else
    conv_direct(c);
}

/// The gradient of a window [window..., C / groups, O] from an image [N, space..., C] and a cotangent [N, places..., O].
inline void kernel(op_c<conv_rhs_vjp_p>, cpu_tag, const kernel_arguments& a) {
  using namespace cpu_backend::detail;
  const array_view &x = a.in[0], &ct = a.in[1], &w = a.out[0];
  if (w.size() == 0) return;
  const auto o = a.attrs<conv_rhs_vjp_options>();
  const cpu_backend::float_result<struct conv_rhs_result> out(w);
  if (ct.size() == 0) return void(std::fill_n(out.data(), w.size(), 0.0f));
  conv_rhs_vjp({.frame = {x, w, ct, o.of_conv()},
                .image = cpu_backend::dense_floats<struct conv_rhs_image>(x),
                .ct = cpu_backend::dense_floats<struct conv_rhs_ct>(ct),
                .out = out.data(),
                .channels = w.extent(-2),
                .features = w.extent(-1) / o.feature_groups,
                .groups = o.feature_groups});
}

}  // namespace tokamax
