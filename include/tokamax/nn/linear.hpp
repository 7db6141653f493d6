// tokamax/nn/linear.hpp: a matrix product with learned weights.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/nn/initializers.hpp>         // lecun_normal
#include <tokamax/numpy/matmul.hpp>            // matmul

namespace tokamax::nn {

/// y = x kernel + bias. `linear up{784, 128}` or `linear up{.in = 784, .out = 128, .use_bias = false}`.
///
/// shapes  x [..., in] -> [..., out]; kernel [in, out], bias [out] ([0] without one)
/// dtypes  promoted from x and the kernel
/// init    kernel lecun_normal, bias zeros
/// source  flax.nnx.Linear
struct linear {
  int in = 0, out = 0;
  bool use_bias = true;
  initializer kernel_init = initializers::lecun_normal, bias_init = initializers::zeros;
  array kernel = parameter({in, out});
  array bias = parameter({use_bias ? out : 0});

  constexpr linear init(const random::key& key) const {
    linear filled = *this;
    filled.kernel = kernel_init(random::fold_in(key, 0), kernel.shape());
    filled.bias = bias_init(random::fold_in(key, 1), bias.shape());
    return filled;
  }
  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const array y = matmul(x, kernel, {}, l);
    if (!use_bias) return y;
    return y + located(bias, l);
  }
};

}  // namespace tokamax::nn
