// tokamax/lax/windows/patches.hpp: the parts of an image under a window as channels, and convolutions whose weights differ by place.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (who needs the parts themselves includes it)
#pragma once

#include <tokamax/lax/dot_general.hpp>         // dot_general
#include <tokamax/lax/indexing/slice.hpp>      // slice, pad
#include <tokamax/lax/shapes/concatenate.hpp>  // stack
#include <tokamax/lax/windows/conv.hpp>        // conv_options

namespace tokamax {

/// The elements under each place of a window, as channels: those of one input channel are neighbours, in row-major order of
/// the window.
///
/// Each element of the window is a strided slice of the padded image, so it is for windows of few elements.
///
/// shapes  x [N, space..., C], window [w, ...] -> [N, places..., C * elements of the window]
/// dtypes  any
/// errors  "conv_general_dilated_patches: window" unless there are a positive extent, stride and dilation for each spatial
///         axis, without groups; also beyond 16384 elements
/// source  jax.lax.conv_general_dilated_patches with NHWC, HWIO, NHWC
constexpr array conv_general_dilated_patches(const array& x, const shape& window, const conv_options& o,
                                             source_line l = source_line::current()) {
  const int d = window.rank(), rank = d + 2;
  bool ok = d > 0 && x.rank() == rank && o.feature_groups == 1 && o.batch_groups == 1;
  for (const shape* s : {&o.strides, &o.low, &o.high, &o.lhs_dilation, &o.rhs_dilation}) ok = ok && s->rank() == d;
  std::int64_t elements = 1;
  for (int i = 0; ok && i < d; ++i) {
    ok = window[i] > 0 && elements <= 16384 / window[i] && o.strides[i] > 0 && detail::is_step(o.lhs_dilation[i]) &&
         detail::is_step(o.rhs_dilation[i]) && detail::is_padding(o.low[i]) && detail::is_padding(o.high[i]);
    if (ok) elements *= window[i];
  }
  if (!ok) {
    reject(x, l, "conv_general_dilated_patches: window", message() << window,
           message("a window, strides and dilations from 1 on for the spatial axes of ") << x.type());
    return x;
  }
  shape low{0}, high{0}, between{0}, places{x.extent(0)}, stride{1};
  for (int i = 0; i < d; ++i) {
    low.push_back(o.low[i]);
    high.push_back(o.high[i]);
    between.push_back(o.lhs_dilation[i] - 1);
    stride.push_back(o.strides[i]);
    places.push_back(detail::window_places(detail::dilated(x.extent(i + 1), o.lhs_dilation[i]),
                                           detail::dilated(window[i], o.rhs_dilation[i]), o.low[i] + o.high[i],
                                           o.strides[i]));
  }
  const std::int64_t channels = x.extent(rank - 1);
  for (shape* s : {&low, &high, &between}) s->push_back(0);
  places.push_back(channels);
  stride.push_back(1);
  shape result = places;
  result[rank - 1] = channels * elements;
  if (size(result) == 0) return zeros(result, x.dtype(), l);
  const array wide = pad(x, array(0.0, {x.dtype(), false, {}}), low, high, between, l);
  arrays parts;
  for (std::int64_t k = 0; k < elements; ++k) {
    shape from{0}, to{x.extent(0)};
    std::int64_t rest = k, inner = elements;
    for (int i = 0; i < d; ++i) {
      inner /= window[i];
      from.push_back(rest / inner * o.rhs_dilation[i]);
      rest %= inner;
      to.push_back(from[i + 1] + (places[i + 1] - 1) * o.strides[i] + 1);
    }
    from.push_back(0);
    to.push_back(channels);
    parts.push_back(slice(wide, from, to, stride, l));
  }
  return reshape(stack(parts, rank, l), result);  // [N, places..., C, elements]
}

/// A convolution whose window has other weights at each place.
///
///   y[n, p, o] = sum over i of patches[n, p, i] w[p, i, o]
///
/// shapes  x [N, space..., C], w [places..., C * elements of the window, O] -> [N, places..., O]; the channels of w are in the
///         order of conv_general_dilated_patches
/// dtypes  any float
/// errors  "conv_general_dilated_local: weights" of other extents, and those of conv_general_dilated_patches
/// source  jax.lax.conv_general_dilated_local with NHWC, HWIO, NHWC
constexpr array conv_general_dilated_local(const array& x, const array& w, const shape& window, const conv_options& o,
                                           source_line l = source_line::current()) {
  const array parts = conv_general_dilated_patches(x, window, o, l);
  const int d = window.rank();
  bool ok = parts.rank() == d + 2 && w.rank() == d + 2;
  for (int i = 0; ok && i <= d; ++i) ok = w.extent(i) == parts.extent(i + 1);
  if (!ok) {
    reject(w.trace() ? w.trace() : x.trace(), l, "conv_general_dilated_local: weights", w.type(),
           message("[places..., channels, features] beside patches ") << parts.type());
    return x;
  }
  dot_dimensions by_place;
  axes batch_first{d};  // [places..., N, O] -> [N, places..., O]
  for (int i = 0; i < d; ++i) {
    by_place.lhs_batch.push_back(i + 1);
    by_place.rhs_batch.push_back(i);
    batch_first.push_back(i);
  }
  by_place.lhs_contracting.push_back(d + 1);
  by_place.rhs_contracting.push_back(d);
  batch_first.push_back(d + 1);
  return transpose(dot_general(parts, w, by_place, l), batch_first, l);
}

}  // namespace tokamax
