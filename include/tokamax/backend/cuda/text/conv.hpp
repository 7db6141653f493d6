// tokamax/backend/cuda/text/conv.hpp: device text: a plain convolution, for what the libraries do not take.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// image [N, space..., C], window [window..., I, O] -> [N / batch groups, places..., O]. A thread computes one element. The
/// zeros of padding and dilation are multiplied too, so that infinite weights give NaN where they meet one.
inline constexpr std::string_view conv = R"text(
struct conv_data {
  i64 count, rank;  // rank: of the space
  i64 channels, inputs, outputs, groups, batch_groups, batch;  // inputs: channels of the window; batch: of the result
  i64 space[16], window[16], places[16];
  i64 strides[16], low[16], image_dilation[16], window_dilation[16];
  const void *image, *weights;
  void* out;
};
template <class T>
void convolution(const conv_data& d) {
  typedef number<T> S;
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d.count) return;
  const i64 output = i % d.outputs;
  i64 rest = i / d.outputs, window_size = 1, place[16];
  for (i64 a = d.rank - 1; a >= 0; --a) {
    place[a] = rest % d.places[a];
    rest /= d.places[a];
    window_size *= d.window[a];
  }
  const i64 group = output / (d.outputs / d.groups), part = output / (d.outputs / d.batch_groups);
  const i64 entry = part * d.batch + rest;
  S sum = S(0);  // over the window, then over channels
  for (i64 w = 0; w < window_size; ++w) {
    i64 at = 0, scale = 1, left = w;
    bool inside = true;
    for (i64 a = d.rank - 1; a >= 0; --a) {
      const i64 p = place[a] * d.strides[a] - d.low[a] + left % d.window[a] * d.window_dilation[a];
      left /= d.window[a];
      inside = inside && p >= 0 && p % d.image_dilation[a] == 0 && p / d.image_dilation[a] < d.space[a];
      at += p / d.image_dilation[a] * scale;
      scale *= d.space[a];
    }
    for (i64 c = 0; c < d.inputs; ++c) {
      const S weight = widen<T>(((const T*)d.weights)[(w * d.inputs + c) * d.outputs + output]);
      const S value = inside ? widen<T>(((const T*)d.image)[(entry * scale + at) * d.channels + group * d.inputs + c]) : S(0);
      sum += value * weight;
    }
  }
  ((T*)d.out)[i] = narrow<T>(sum);
}
)text";

}  // namespace tokamax::cuda_text
