// tokamax/nn/norms/instance_norm.hpp: normalisation of each channel of one example.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/nn/flax_norms.cpp
#pragma once

#include <tokamax/nn/norms/norm_over.hpp>  // norm_over

namespace tokamax::nn {

/// Normalises each channel of each example, over all axes but the first and those of the features. `instance_norm norm{width}`.
///
/// shapes  x [N, ..., width] -> the same; a mask broadcasts to x, and says which elements count
/// init    scale ones, offset zeros
/// errors  "instance_norm: features" if they include the first axis, and those of norm_over
/// source  flax.nnx.InstanceNorm; Ulyanov and others 2016, arXiv:1607.08022
struct instance_norm {
  int width = 0;
  double epsilon = 1e-6;
  axes features{-1};
  norm_over norm{.width = width, .epsilon = epsilon, .features = features};  ///< its axes follow from x

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    return (*this)(x, array(), l);
  }
  constexpr array operator()(const array& x, const array& mask, source_line l = source_line::current()) const {
    const axes kept = detail::axes_of("instance_norm: features", features, x, l);
    if (kept.contains(0)) {
      reject(x, l, "instance_norm: features", message() << features << " of " << x.type(),
             "none that is the first axis");
      return x;
    }
    norm_over each = norm;
    each.over = {};
    for (int i = 1; i < x.rank(); ++i)
      if (!kept.contains(i)) each.over.push_back(i);
    return each(x, mask, l);
  }
};

}  // namespace tokamax::nn
