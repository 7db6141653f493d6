// tokamax/nn/norms/weight_norm.hpp: a layer whose kernel has length and direction as parameters of their own.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/nn/flax_norms.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>        // sum
#include <tokamax/nn/norms/moments.hpp>  // along_features

namespace tokamax::nn {

namespace detail {
/// x / sqrt(sum(x^2) + epsilon), along some axes.
constexpr array unit_length(const array& x, const axes& over, double epsilon, source_line l) {
  return x * rsqrt(sum(x * x, {.axis = over, .keepdims = true}, l) + epsilon, l);
}
}  // namespace detail

/// A layer with a kernel, such as linear or conv, that is called with
///
///   kernel / sqrt(sum(kernel^2) + epsilon) * scale
///
/// in its place: `weight_norm<linear> layer{{.in = 8, .out = 4}}`. The sum goes over all axes but the features. The kernel itself
/// stays what it is (Flax writes the normalised one into it at each call, and so forgets lengths).
///
/// shapes  those of the layer; scale [extents of the features] ([0] if it is not used)
/// init    the layer as by itself, scale ones
/// errors  "weight_norm: features" that are no axes of the kernel
/// source  flax.nnx.WeightNorm; Salimans, Kingma 2016, arXiv:1602.07868
template <class Layer>
struct weight_norm {
  Layer layer;
  axes features{-1};  ///< axes along which each entry has a length of its own; none: the whole kernel has one
  double epsilon = 1e-12;
  bool use_scale = true;
  array scale = ones(use_scale ? lengths() : shape{0}, layer.kernel.dtype());

  /// The layer with the kernel that it is called with.
  constexpr Layer normalised(source_line l = source_line::current()) const {
    Layer now = layer;
    const axes kept = detail::axes_of("weight_norm: features", features, layer.kernel, l);
    axes over;
    for (int i = 0; i < layer.kernel.rank(); ++i)
      if (!kept.contains(i)) over.push_back(i);
    now.kernel = detail::unit_length(layer.kernel, over, epsilon, l);
    if (use_scale) now.kernel = now.kernel * detail::along_features(scale, layer.kernel, kept, l);
    return now;
  }
  template <class... Arguments>
  constexpr array operator()(const array& x, const Arguments&... arguments) const {
    return normalised()(x, arguments...);
  }

 private:
  constexpr shape lengths() const {
    shape s;
    for (std::int64_t a : features)
      s.push_back(layer.kernel.extent(static_cast<int>(a < 0 ? a + layer.kernel.rank() : a)));
    return s;
  }
};

}  // namespace tokamax::nn
