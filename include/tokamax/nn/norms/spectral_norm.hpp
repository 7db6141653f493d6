// tokamax/nn/norms/spectral_norm.hpp: a layer whose kernel is divided by its largest singular value.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/nn/flax_norms.cpp
#pragma once

#include <tokamax/lax/stop_gradient.hpp>             // stop_gradient
#include <tokamax/nn/initializers/init.hpp>          // init
#include <tokamax/nn/initializers/initializers.hpp>  // normal
#include <tokamax/nn/mode.hpp>                       // mode
#include <tokamax/nn/norms/weight_norm.hpp>          // unit_length
#include <tokamax/nn/statistic.hpp>                  // statistic
#include <tokamax/numpy/matmul.hpp>                  // matmul

namespace tokamax::nn {

/// A layer with a kernel, such as linear or conv, that is called with kernel / sigma in its place, where sigma is the largest singular
/// value: `spectral_norm<linear> layer{{.in = 8, .out = 4}}`. Sigma is found by steps of the power method, which go on from the
/// vector u of the call before. So a call changes the layer and is not const, as that of batch_norm; if `use` is
/// `mode::evaluation`, nothing is kept.
///
/// shapes  those of the layer, whose kernel counts as a matrix [others, out]; u [1, out], sigma []
/// init    the layer as by itself, u normal<0.01>, sigma one
/// errors  "spectral_norm: kernel" of less than two axes; "spectral_norm: mode" if a const layer is to be trained
/// source  flax.nnx.SpectralNorm; Miyato and others 2018, arXiv:1802.05957
template <class Layer>
struct spectral_norm {
  Layer layer;
  int steps = 1;
  double epsilon = 1e-12;
  mode use = mode::training;
  statistic u = parameter({1, layer.kernel.rank() ? layer.kernel.extent(-1) : 0}), sigma = ones({});

  constexpr spectral_norm init(const random::key& key) const {
    spectral_norm filled = *this;
    filled.layer = tokamax::init(layer, random::fold_in(key, 0));
    filled.u = initializers::normal<>(random::fold_in(key, 1), u.shape());
    return filled;
  }
  constexpr array operator()(const array& x, source_line l = source_line::current()) { return normalised(l)(x, l); }
  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    if (use == mode::training)
      reject(x, l, "spectral_norm: mode", "a const layer that is trained",
             "a model that the loss takes by value, or nn::set_mode(model, nn::mode::evaluation)");
    spectral_norm unchanged = *this;
    unchanged.use = mode::evaluation;
    return unchanged(x, l);
  }
  /// The layer with the kernel that it is called with.
  constexpr Layer normalised(source_line l = source_line::current()) {
    Layer now = layer;
    if (layer.kernel.rank() < 2) {
      reject(layer.kernel, l, "spectral_norm: kernel", layer.kernel.type(), "two axes or more");
      return now;
    }
    const array matrix =
        reshape(layer.kernel, {layer.kernel.size() / layer.kernel.extent(-1), layer.kernel.extent(-1)}, l);
    array right = u, left;  // [1, out], [1, others]
    for (int i = 0; i < steps; ++i) {
      left = detail::unit_length(matmul(right, transpose(matrix, l), {}, l), every_axis, epsilon, l);
      right = detail::unit_length(matmul(left, matrix, {}, l), every_axis, epsilon, l);
    }
    if (steps < 1) return now;
    right = stop_gradient(right, l);
    const array value = sum(matmul(stop_gradient(left, l), matrix, {}, l) * right, every_axis, l);
    now.kernel = layer.kernel / select(value != 0, value, ones_like(value), l);
    if (use == mode::training) u = right, sigma = value;
    return now;
  }
};

}  // namespace tokamax::nn
