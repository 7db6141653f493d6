// tokamax/backend/cuda/kernels/conv.hpp: convolutions over any number of spatial axes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/windows/conv.cpp
#pragma once

#include <tokamax/backend/cuda/device.hpp>     // cuda_tag
#include <tokamax/backend/cuda/launch.hpp>     // launch_template
#include <tokamax/backend/cuda/text/conv.hpp>  // conv
#include <tokamax/lax/windows/conv.hpp>        // conv_general_dilated_p

namespace tokamax {

TOKAMAX_BODY void kernel(op_c<conv_general_dilated_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  const auto o = a.attrs<conv_options>();
  const array_view &image = a.in[0], &weights = a.in[1], &out = a.out[0];
  const int d = o.strides.rank();
  shape space, window, places;
  for (int i = 0; i < d; ++i) {
    space.push_back(image.extent(i + 1));
    window.push_back(weights.extent(i));
    places.push_back(out.extent(i + 1));
  }
  kernel_record r;
  r.add(out.size()).add(d).add(image.extent(d + 1)).add(weights.extent(d)).add(weights.extent(d + 1));
  r.add(o.feature_groups).add(o.batch_groups).add(out.extent(0));
  r.add(space).add(window).add(places).add(o.strides).add(o.low).add(o.lhs_dilation).add(o.rhs_dilation);
  r.add(image.data).add(weights.data).add(out.data);
  launch_template(instance_of(a), cuda_text::conv, "convolution", "conv_data", {name(out.type)},
                  ceil_div(out.size(), block_threads), r);
}

}  // namespace tokamax
