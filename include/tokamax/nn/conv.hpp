// tokamax/nn/conv.hpp: a convolution over any number of axes.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs without images pass it by)
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/lax/windows/conv.hpp>        // conv_general_dilated, padding
#include <tokamax/nn/initializers.hpp>         // initializer, parameter

namespace tokamax::nn {

namespace detail {
/// The window, and behind it the channels that an output feature sees and the output features.
constexpr shape kernel_shape(shape window, int channels, int out) {
  window.push_back(channels);
  window.push_back(out);
  return window;
}
}  // namespace detail

/// The sum of products of a window with every part of an image. `conv blur{3, 16}` has windows of 3 x 3, and
/// `conv{.in = 8, .out = 8, .window = {5}}` goes over one axis.
///
/// shapes  x [N, space..., in] -> [N, places..., out]; kernel [window..., in / groups, out], bias [out] ([0] without one)
/// dtypes  promoted from x and the kernel
/// init    kernel lecun_normal, bias zeros
/// errors  "conv: window" if strides or dilation have another rank than the window, or x another than 2 more; "conv: channels"
/// source  flax.nnx.Conv
struct conv {
  int in = 0, out = 0;
  shape window{3, 3};
  shape strides{}, dilation{};  ///< 1 in each axis if empty; the dilation is that of the window
  tokamax::padding padding = tokamax::padding::same;
  int groups = 1;  ///< into which channels are cut; each computes its own part of the output features
  bool use_bias = true;
  initializer kernel_init = initializers::lecun_normal, bias_init = initializers::zeros;
  array kernel = parameter(detail::kernel_shape(window, groups > 0 ? in / groups : 0, out));
  array bias = parameter({use_bias ? out : 0});

  constexpr conv init(const random::key& key) const {
    conv filled = *this;
    filled.kernel = kernel_init(random::fold_in(key, 0), kernel.shape());
    filled.bias = bias_init(random::fold_in(key, 1), bias.shape());
    return filled;
  }
  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const int rank = window.rank();
    const auto fits = [rank](const shape& s) { return s.rank() == 0 || s.rank() == rank; };
    if (!fits(strides) || !fits(dilation) || x.rank() != rank + 2) {
      reject(x, l, "conv: window", message() << window << strides << dilation << " for " << x.type(),
             "strides and dilation of the window's rank, and x of two more");
      return x;
    }
    conv_options o{.feature_groups = groups};
    for (int i = 0; i < rank; ++i) {
      const std::int64_t step = strides.rank() == 0 ? 1 : strides[i], apart = dilation.rank() == 0 ? 1 : dilation[i];
      o.strides.push_back(step);
      o.lhs_dilation.push_back(1);
      o.rhs_dilation.push_back(apart);
      tokamax::detail::pad_axis(o.low, o.high, padding, x.extent(i + 1), tokamax::detail::dilated(window[i], apart),
                                step);
    }
    const promoted p = promote({x.dtype(), x.type().weak}, {kernel.dtype(), kernel.type().weak});
    const array y = conv_general_dilated(convert_element_type(x, p.type, p.weak),
                                         convert_element_type(kernel, p.type, p.weak), o, l);
    if (!use_bias) return y;
    return y + located(bias, l);
  }
};

}  // namespace tokamax::nn
