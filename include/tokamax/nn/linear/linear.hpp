// tokamax/nn/linear/linear.hpp: a matrix product with learned weights.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>        // layer_scope
#include <tokamax/nn/initializers/initializers.hpp>  // lecun_normal
#include <tokamax/numpy/matmul.hpp>                  // matmul

namespace tokamax::nn {

/// y = x kernel + bias. `linear up{784, 128}` or `linear up{.in = 784, .out = 128, .use_bias = false}`.
///
/// shapes  x [..., in] -> [..., out]; kernel [in, out], bias [out] ([0] without one)
/// dtypes  promoted from x and the kernel, or compute_dtype
/// init    kernel lecun_normal, bias zeros
/// source  flax.nnx.Linear
struct linear {
  int in = 0, out = 0;
  bool use_bias = true;
  initializer kernel_init = initializers::lecun_normal, bias_init = initializers::zeros;
  dtype compute_dtype = dtype::none, param_dtype = f32;
  array kernel = parameter({in, out}, param_dtype);
  array bias = parameter({use_bias ? out : 0}, param_dtype);

  constexpr linear init(const random::key& key) const {
    linear filled = *this;
    filled.kernel = detail::first_value(kernel_init, random::fold_in(key, 0), kernel);
    filled.bias = detail::first_value(bias_init, random::fold_in(key, 1), bias);
    return filled;
  }
  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    if (compute_dtype != dtype::none) return product(astype(x, compute_dtype, l), l);
    return product(x, l);
  }

 private:
  constexpr array product(const array& x, source_line l) const {
    const array y = matmul(x, in_dtype(kernel, l), {}, l);
    if (!use_bias) return y;
    return y + located(in_dtype(bias, l), l);
  }
  constexpr array in_dtype(const array& p, source_line l) const {
    if (compute_dtype == dtype::none) return p;
    return astype(p, compute_dtype, l);
  }
};

}  // namespace tokamax::nn
