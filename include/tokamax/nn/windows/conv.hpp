// tokamax/nn/windows/conv.hpp: a convolution over any number of axes.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs without images pass it by)
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>        // layer_scope
#include <tokamax/nn/initializers/initializers.hpp>  // initializer, parameter
#include <tokamax/nn/windows/conv_padding.hpp>       // conv_padding

namespace tokamax::nn {

namespace detail {
/// The window, and behind it the channels that an output feature sees and the output features.
constexpr shape kernel_shape(shape window, int channels, int out) {
  window.push_back(channels);
  window.push_back(out);
  return window;
}
/// One number for each axis of a window: ones for an empty list.
constexpr shape each_axis(const shape& given, int count) {
  if (given.rank() != 0) return given;
  shape ones;
  for (int i = 0; i < count; ++i) ones.push_back(1);
  return ones;
}
/// x, kernel and bias in one dtype: the one of the layer, or what x and the kernel are promoted to.
constexpr arrays in_one_dtype(const array& x, const array& kernel, const array& bias, dtype t, source_line l) {
  if (t != dtype::none) return {astype(x, t, l), astype(kernel, t, l), astype(bias, t, l)};
  const promoted p = promote({x.dtype(), x.type().weak}, {kernel.dtype(), kernel.type().weak});
  return {convert_element_type(x, p.type, p.weak), convert_element_type(kernel, p.type, p.weak), bias};
}
}  // namespace detail

/// The sum of products of a window with every part of an image. `conv blur{3, 16}` has windows of 3 x 3, and
/// `conv{.in = 8, .out = 8, .window = {5}}` goes over one axis.
///
/// shapes  x [batch..., space..., in] -> [batch..., places..., out], with any number of batch axes; kernel [window..., in / groups,
///         out], bias [out] ([0] without one); a mask has the shape of the kernel, which it multiplies
/// dtypes  promoted from x and the kernel, or compute_dtype
/// init    kernel lecun_normal, bias zeros
/// errors  "conv: window" if strides, dilations or paddings have another rank than the window, or x less than one more, and for causal
///         windows of several axes; "conv: mask"; "conv: channels"
/// source  flax.nnx.Conv
struct conv {
  int in = 0, out = 0;
  shape window{3, 3};
  shape strides{}, dilation{};  ///< 1 in each axis if empty; the dilation is that of the window
  conv_padding padding = edges::same;
  int groups = 1;  ///< into which channels are cut; each computes its own part of the output features
  bool use_bias = true;
  initializer kernel_init = initializers::lecun_normal, bias_init = initializers::zeros;
  shape input_dilation{};  ///< 1 + the number of zeros between elements of x
  dtype compute_dtype = dtype::none, param_dtype = f32;
  array kernel = parameter(detail::kernel_shape(window, groups > 0 ? in / groups : 0, out), param_dtype);
  array bias = parameter({use_bias ? out : 0}, param_dtype);

  constexpr conv init(const random::key& key) const {
    conv filled = *this;
    filled.kernel = detail::first_value(kernel_init, random::fold_in(key, 0), kernel);
    filled.bias = detail::first_value(bias_init, random::fold_in(key, 1), bias);
    return filled;
  }
  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    return (*this)(x, array(), l);
  }
  constexpr array operator()(const array& x, const array& mask, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const int rank = window.rank();
    const auto fits = [rank](const shape& s) { return s.rank() == 0 || s.rank() == rank; };
    if (!fits(strides) || !fits(dilation) || !fits(input_dilation) || !padding.fits(rank) || x.rank() <= rank) {
      reject(x, l, "conv: window", message() << window << strides << dilation << " for " << x.type(),
             "strides, dilation and padding of the window's rank, causal ones of one axis, and x of one more at least");
      return x;
    }
    array w = kernel;
    if (mask.exists()) {
      if (mask.shape() != kernel.shape()) {
        reject(x, l, "conv: mask", mask.type(), message() << kernel.shape());
        return x;
      }
      w = w * mask;
    }
    return detail::with_one_batch(x, rank, [&](const array& images) { return of_images(images, w, l); }, l);
  }

 private:
  /// [N, space..., in] -> [N, places..., out]
  constexpr array of_images(const array& given, const array& w, source_line l) const {
    const int rank = window.rank();
    conv_options o{.strides = detail::each_axis(strides, rank),
                   .lhs_dilation = detail::each_axis(input_dilation, rank),
                   .rhs_dilation = detail::each_axis(dilation, rank),
                   .feature_groups = groups};
    shape span;
    for (int i = 0; i < rank; ++i) span.push_back(tokamax::detail::dilated(window[i], o.rhs_dilation[i]));
    const array x = detail::padded(given, padding, span, o.strides, o.low, o.high, l);
    const arrays operands = detail::in_one_dtype(x, w, bias, compute_dtype, l);
    const array y = conv_general_dilated(operands[0], operands[1], o, l);
    if (!use_bias) return y;
    return y + located(operands[2], l);
  }
};

}  // namespace tokamax::nn
