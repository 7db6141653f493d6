// tokamax/lax/windows/conv_transpose.hpp: the convolution that enlarges an image: the transpose of one with strides.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (models that enlarge images include it)
#pragma once

#include <tokamax/lax/shapes/reverse.hpp>    // reverse
#include <tokamax/lax/shapes/transpose.hpp>  // swapaxes
#include <tokamax/lax/windows/conv.hpp>      // conv_general_dilated

namespace tokamax {

/// How conv_transpose is asked for. Empty lists are ones.
struct conv_transpose_options {
  shape strides{}, rhs_dilation{};
  bool valid = false;  ///< pads as the transpose of a convolution without padding; otherwise of one of equal size
  bool transpose_kernel =
      false;  ///< the exact transpose: the window in reverse order, with input and output channels exchanged
  shape low{},
      high{};  ///< zeros around the image, between whose elements there are zeros; if given, in place of `valid`
};

/// A convolution of x with zeros between its elements, so that the result is `strides` times as large.
///
/// shapes  x [N, space..., C], w [window..., C, O] ([window..., O, C] with transpose_kernel) -> [N, places..., O]: strides
///         times the extents, or with `valid` also max(window - strides, 0) more, or by low and high what a convolution gives
/// dtypes  any float, computed in f32
/// errors  "conv_transpose: options", and those of conv_general_dilated
/// source  jax.lax.conv_transpose with NHWC, HWIO, NHWC
constexpr array conv_transpose(const array& x, const array& w, const conv_transpose_options& o = {},
                               source_line l = source_line::current()) {
  const int d = x.rank() - 2;
  const auto fits = [&](const shape& s) {
    bool ok = s.rank() == 0 || s.rank() == d;
    for (std::int64_t v : s) ok = ok && v > 0;
    return ok;
  };
  const bool padded = o.low.rank() > 0;
  if (d < 1 || w.rank() != x.rank() || !fits(o.strides) || !fits(o.rhs_dilation) || o.low.rank() != o.high.rank() ||
      (padded && o.low.rank() != d)) {
    reject(x.trace() ? x.trace() : w.trace(), l, "conv_transpose: options",
           message() << o.strides << o.rhs_dilation << o.low << o.high << " for " << x.type() << w.type(),
           "one or more spatial axes, with positive strides and dilations for each");
    return x;
  }
  conv_options c;
  axes space;
  for (int i = 0; i < d; ++i) {
    const std::int64_t stride = o.strides.rank() ? o.strides[i] : 1, by = o.rhs_dilation.rank() ? o.rhs_dilation[i] : 1;
    const std::int64_t k = detail::dilated(w.extent(i), by), more = o.valid && k > stride ? k - stride : 0;
    const std::int64_t all = k + stride - 2 + more;
    const std::int64_t low = o.valid || stride > k - 1 ? k - 1 : (all + 1) / 2;
    c.strides.push_back(1);
    c.low.push_back(padded ? o.low[i] : low);
    c.high.push_back(padded ? o.high[i] : all - low);
    c.lhs_dilation.push_back(stride);
    c.rhs_dilation.push_back(by);
    space.push_back(i);
  }
  array window = w;
  if (o.transpose_kernel) window = swapaxes(reverse(w, space, l), d, d + 1, l);
  return conv_general_dilated(x, window, c, l);
}

}  // namespace tokamax
