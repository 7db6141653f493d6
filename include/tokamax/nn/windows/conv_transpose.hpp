// tokamax/nn/windows/conv_transpose.hpp: a layer that enlarges images.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs without images pass it by)
// tested by tests/nn/flax_norms.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>                  // sum
#include <tokamax/lax/windows/conv_transpose.hpp>  // conv_transpose
#include <tokamax/nn/windows/conv.hpp>             // in_one_dtype, kernel_shape

namespace tokamax::nn {

/// A convolution of x with zeros between its elements, so that the result is `strides` times as large:
/// `conv_transpose grow{.in = 16, .out = 3, .window = {4, 4}, .strides = {2, 2}}`.
///
/// shapes  x [batch..., space..., in] -> [batch..., places..., out], with any number of batch axes; kernel [window..., in, out]
///         ([window..., out, in] with transpose_kernel), bias [out] ([0] without one); a mask has the shape of the kernel
/// dtypes  promoted from x and the kernel, or compute_dtype
/// init    kernel lecun_normal, bias zeros
/// errors  "conv_transpose: window" as those of conv, and for causal and reflect; "conv_transpose: mask"; "conv: channels"
/// source  flax.nnx.ConvTranspose
struct conv_transpose {
  int in = 0, out = 0;
  shape window{3, 3};
  shape strides{}, dilation{};         ///< 1 in each axis if empty; the dilation is that of the window
  conv_padding padding = edges::same;  ///< amounts are those around the image with zeros between its elements
  bool transpose_kernel = false;       ///< the window in reverse order, with input and output channels exchanged
  bool use_bias = true;
  initializer kernel_init = initializers::lecun_normal, bias_init = initializers::zeros;
  dtype compute_dtype = dtype::none, param_dtype = f32;
  array kernel =
      parameter(detail::kernel_shape(window, transpose_kernel ? out : in, transpose_kernel ? in : out), param_dtype);
  array bias = parameter({use_bias ? out : 0}, param_dtype);

  constexpr conv_transpose init(const random::key& key) const {
    conv_transpose filled = *this;
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
    if (!fits(strides) || !fits(dilation) || !padding.fits(rank) || x.rank() <= rank ||
        (!padding.counted && (padding.kind == edges::causal || padding.kind == edges::reflect))) {
      reject(x, l, "conv_transpose: window", message() << window << strides << dilation << " for " << x.type(),
             "strides, dilation and padding of the window's rank, x of one more, and same, valid or circular edges");
      return x;
    }
    array w = kernel;
    if (mask.exists()) {
      if (mask.shape() != kernel.shape()) {
        reject(x, l, "conv_transpose: mask", mask.type(), message() << kernel.shape());
        return x;
      }
      w = w * mask;
    }
    return detail::with_one_batch(x, rank, [&](const array& images) { return of_images(images, w, l); }, l);
  }

 private:
  /// [N, space..., in] -> [N, places..., out]
  constexpr array of_images(const array& x, const array& w, source_line l) const {
    const int rank = window.rank();
    const arrays operands = detail::in_one_dtype(x, w, bias, compute_dtype, l);
    conv_transpose_options o{.strides = detail::each_axis(strides, rank),
                             .rhs_dilation = detail::each_axis(dilation, rank),
                             .valid = padding.kind != edges::same,
                             .transpose_kernel = transpose_kernel};
    for (int i = 0; padding.counted && i < rank; ++i) {
      o.low.push_back(padding.low.rank() ? padding.low[i] : padding.all);
      o.high.push_back(padding.low.rank() ? padding.high[i] : padding.all);
    }
    array y = tokamax::conv_transpose(operands[0], operands[1], o, l);
    if (!padding.counted && padding.kind == edges::circular) y = wrapped(y, x, o.strides, l);
    if (!use_bias) return y;
    return y + located(operands[2], l);
  }
  /// Adds what stands beyond the edges to the other end: the extents become strides times those of x. Where x begins stays the
  /// beginning of a period.
  constexpr array wrapped(array y, const array& x, const shape& steps, source_line l) const {
    for (int i = 1; i <= window.rank(); ++i) {
      const std::int64_t period = x.extent(i) * steps[i - 1];
      if (period == 0) continue;
      const std::int64_t more = ((period - y.extent(i)) % (2 * period) + 2 * period) % (2 * period);
      shape low, high, cut;
      for (int k = 0; k < y.rank(); ++k) {
        low.push_back(k == i ? (transpose_kernel ? more / 2 : (more + 1) / 2) : 0);
        high.push_back(k == i ? more - low[k] : 0);
      }
      y = pad(y, array(0.0, {y.dtype(), false, {}}), low, high, {}, l);
      for (int k = 0; k < y.rank(); ++k) {
        cut.push_back(k == i ? y.extent(k) / period : y.extent(k));
        if (k == i) cut.push_back(period);
      }
      y = sum(reshape(y, cut, l), i, l);
    }
    return y;
  }
};

}  // namespace tokamax::nn
