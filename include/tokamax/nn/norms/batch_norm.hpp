// tokamax/nn/norms/batch_norm.hpp: normalisation over a batch, with running averages for later use.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs without images pass it by)
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/lax/iota.hpp>                // ones, zeros
#include <tokamax/lax/stop_gradient.hpp>       // stop_gradient
#include <tokamax/nn/mode.hpp>                 // mode
#include <tokamax/nn/norms/moments.hpp>        // moments_of, normalised
#include <tokamax/nn/statistic.hpp>            // statistic

namespace tokamax::nn {

/// Normalises each channel by the mean and variance of the batch, and keeps running averages of these. `batch_norm norm{width}`.
///
///   y = (x - mean) / sqrt(var + epsilon) * scale + offset,  var = mean((x - mean)^2)
///   running = momentum * running + (1 - momentum) * that of the batch
///
/// The call changes the layer, so it is not const. A model with such layers has a call that is not const either, and its loss takes
/// it by value and returns `std::pair{loss, model}` (see train::step). If `use` is `mode::evaluation` (see set_mode), the layer
/// normalises by the running averages and changes nothing. Under a vmap, `axis` names the axis whose entries are one batch; groups
/// of entries are the inner one of two vmaps.
///
/// shapes  x [..., width] -> the same; all but the axis of features are the batch, of which those with a true mask count, which
///         broadcasts to x; scale, offset, average, variance [width] (scale and offset [0] if they are not used)
/// dtypes  the result has the dtype of x, or compute_dtype, to which x is rounded; statistics are computed in f32 if that is wider
/// init    scale ones, offset zeros, average zeros, variance ones
/// errors  "batch_norm: width" if the axis of features has another extent, "batch_norm: axis"; "batch_norm: mode" if a const layer
///         is to be trained; "pmean: axis name"
/// source  flax.nnx.BatchNorm; Ioffe, Szegedy 2015, arXiv:1502.03167
struct batch_norm {
  int width = 0;
  double momentum = 0.99, epsilon = 1e-5;
  mode use = mode::training;
  std::string_view axis = {};
  int features = -1;           ///< the axis of the channels
  bool fast_variance = false;  ///< see moment_choice
  bool use_scale = true, use_offset = true;
  dtype compute_dtype = dtype::none, param_dtype = f32;
  array scale = ones({use_scale ? width : 0}, param_dtype), offset = zeros({use_offset ? width : 0}, param_dtype);
  statistic average = zeros({width}), variance = ones({width});

  constexpr array operator()(const array& x, source_line l = source_line::current()) { return called(x, {}, l); }
  constexpr array operator()(const array& x, const array& mask, source_line l = source_line::current()) {
    return called(x, mask, l);
  }
  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    if (use == mode::training)
      reject(x, l, "batch_norm: mode", "a const layer that is trained",
             "a model that the loss takes by value, or nn::set_mode(model, nn::mode::evaluation)");
    batch_norm unchanged = *this;
    unchanged.use = mode::evaluation;
    return unchanged.called(x, {}, l);
  }

 private:
  constexpr array called(const array& given, const array& mask, source_line l) {
    const layer_scope scope(*this, given);
    const array x = detail::in_dtype(given, compute_dtype, l);
    const int at = checked_axis("batch_norm: axis", features, x, l);
    if (x.rank() == 0 || x.extent(at) != width) {
      message expected(features == -1 ? "a last axis of " : "an axis of features of ");
      reject(x, l, "batch_norm: width", x.type(), expected << width);
      return x;
    }
    moment_choice batch{.fast_variance = fast_variance, .axis = axis, .mask = mask};
    for (int k = 0; k < x.rank(); ++k)
      if (k != at) batch.over.push_back(k);
    moments m;
    if (use == mode::evaluation) {
      m = {detail::along_features(average, x, at, l), detail::along_features(variance, x, at, l)};
    } else {
      m = moments_of(x, batch, l);
      average = moved(average, reshape(m.mean, {width}, l));
      variance = moved(variance, reshape(m.variance, {width}, l));
    }
    const auto parameter = [&](bool used, const array& p) {
      return detail::along_features(detail::if_used(used, p), x, at, l);
    };
    return normalised(x, m, epsilon, parameter(use_scale, this->scale), parameter(use_offset, offset), l);
  }
  /// A running average, which counts as a constant for derivatives.
  constexpr array moved(const array& running, const array& now) const {
    return stop_gradient(astype(momentum * running + (1.0 - momentum) * now, running.dtype()));
  }
};

}  // namespace tokamax::nn
