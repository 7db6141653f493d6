// tokamax/nn/batch_norm.hpp: normalisation over a batch, with running averages for later use.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs without images pass it by)
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/lax/iota.hpp>                // ones, zeros
#include <tokamax/nn/mode.hpp>                 // mode
#include <tokamax/nn/statistic.hpp>            // statistic
#include <tokamax/numpy/statistics.hpp>        // mean
#include <tokamax/transforms/collectives.hpp>  // pmean

#include <string_view>  // string_view

namespace tokamax::nn {

/// Normalises each channel by the mean and variance of the batch, and keeps running averages of these. `batch_norm norm{width}`.
///
///   y = (x - mean) / sqrt(var + epsilon) * scale + offset,  var = mean((x - mean)^2)
///   running = momentum * running + (1 - momentum) * that of the batch
///
/// The call changes the layer, so it is not const. A model with such layers has a call that is not const either, and its loss takes
/// it by value and returns `std::pair{loss, model}` (see train::step). If `use` is `mode::evaluation` (see set_mode), the layer
/// normalises by the running averages and changes nothing. Under a vmap, `axis` names the axis whose entries are one batch.
///
/// shapes  x [..., width] -> the same; all but the last axis are the batch; scale, offset, average, variance [width]
/// dtypes  the result has the dtype of x; statistics are computed in f32 if that is wider
/// init    scale ones, offset zeros, average zeros, variance ones
/// errors  "batch_norm: width" if the last axis of x has another extent; "batch_norm: mode" if a const layer is to be trained;
///         "pmean: axis name"
/// source  flax.nnx.BatchNorm; Ioffe, Szegedy 2015, arXiv:1502.03167
struct batch_norm {
  int width = 0;
  double momentum = 0.99, epsilon = 1e-5;
  mode use = mode::training;
  std::string_view axis = {};
  array scale = ones({width}), offset = zeros({width});
  statistic average = zeros({width}), variance = ones({width});

  constexpr array operator()(const array& x, source_line l = source_line::current()) {
    const layer_scope scope(*this, x);
    if (!has_width(x, l)) return x;
    if (use == mode::evaluation) return normalised(x, average, variance, l);
    const array wide = astype(x, carrying(x.dtype()), l);
    axes batch;
    for (int k = 0; k + 1 < x.rank(); ++k) batch.push_back(k);
    const auto mean_of_batch = [&](const array& a) {
      const array m = tokamax::mean(a, {.axis = batch}, l);
      if (axis.empty()) return m;
      return pmean(m, axis, l);
    };
    const array m = mean_of_batch(wide), v = mean_of_batch(square(wide - m, l));
    average = moved(average, m);
    variance = moved(variance, v);
    return normalised(x, m, v, l);
  }
  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    if (use == mode::training)
      reject(x, l, "batch_norm: mode", "a const layer that is trained",
             "a model that the loss takes by value, or nn::set_mode(model, nn::mode::evaluation)");
    batch_norm unchanged = *this;
    unchanged.use = mode::evaluation;
    return unchanged(x, l);
  }

 private:
  constexpr bool has_width(const array& x, source_line l) const {
    if (x.rank() > 0 && x.shape()[x.rank() - 1] == width) return true;
    reject(x, l, "batch_norm: width", x.type(), message("a last axis of ") << width);
    return false;
  }
  constexpr array moved(const array& running, const array& now) const {
    return astype(momentum * running + (1.0 - momentum) * now, running.dtype());
  }
  constexpr array normalised(const array& x, const array& m, const array& v, source_line l) const {
    const array y = (astype(x, carrying(x.dtype()), l) - m) * (rsqrt(v + epsilon, l) * scale) + offset;
    return astype(y, x.dtype(), l);
  }
};

}  // namespace tokamax::nn
