// tokamax/nn/group_norm.hpp: normalisation of groups of channels of one example.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/lax/iota.hpp>                // ones, zeros
#include <tokamax/lax/shapes/reshape.hpp>      // reshape
#include <tokamax/numpy/statistics.hpp>        // mean

namespace tokamax::nn {

/// Normalises each group of channels of each example, over all axes but the first. `group_norm norm{width, groups}`; one group is a
/// layer norm of images, and `groups = width` an instance norm.
///
///   y = (x - mean) / sqrt(var + epsilon) * scale + offset,  var = mean((x - mean)^2)
///
/// shapes  x [N, ..., width] -> the same; scale and offset [width]
/// dtypes  the result has the dtype of x; moments are computed in f32 if that is wider
/// init    scale ones, offset zeros
/// errors  "group_norm: width" if the last axis of x has another extent, "group_norm: groups" that do not divide the width
/// source  flax.nnx.GroupNorm, InstanceNorm; Wu, He 2018, arXiv:1803.08494
struct group_norm {
  int width = 0, groups = 32;
  double epsilon = 1e-6;
  array scale = ones({width}), offset = zeros({width});

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    if (x.rank() < 2 || x.shape()[x.rank() - 1] != width) {
      reject(x, l, "group_norm: width", x.type(), message("[N, ..., ") << width << "]");
      return x;
    }
    if (groups < 1 || width % groups != 0) {
      reject(x, l, "group_norm: groups", message() << groups, message("a divisor of ") << width);
      return x;
    }
    shape parts = x.shape();
    parts[parts.rank() - 1] = groups;
    parts.push_back(width / groups);
    axes others;  // all but the example and the group
    for (int i = 1; i < parts.rank(); ++i)
      if (i != parts.rank() - 2) others.push_back(i);
    const array wide = reshape(astype(x, carrying(x.dtype()), l), parts, l);
    const array centred = wide - tokamax::mean(wide, {.axis = others, .keepdims = true}, l);
    const array v = tokamax::mean(square(centred, l), {.axis = others, .keepdims = true}, l);
    const array y = reshape(centred * rsqrt(v + epsilon, l), x.shape(), l);
    return astype(y * scale + offset, x.dtype(), l);
  }
};

}  // namespace tokamax::nn
