// tokamax/nn/linear/mlp.hpp: two linear layers with a nonlinearity between them, plain and gated.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/nn/linear/linear.hpp>  // linear
#include <tokamax/ops/activations.hpp>   // gelu, silu

namespace tokamax::nn {

/// The type of an `activation` field: relu, silu, tanh, gelu_tanh and so on.
using activation_function = array (*)(const array&, source_line);

constexpr array identity(const array& x, source_line = {}) { return x; }
constexpr array gelu_tanh(const array& x, source_line l) { return gelu(x, {.approximate = true}, l); }
constexpr array gelu_exact(const array& x, source_line l) { return gelu(x, {.approximate = false}, l); }

/// y = down(activation(up(x))). `mlp feed_forward{.width = 256, .hidden = 1024}`.
///
/// shapes  x [..., width] -> the same
/// init    as linear
struct mlp {
  int width = 0, hidden = 0;
  bool use_bias = true;
  activation_function activation = gelu_tanh;
  initializer kernel_init = initializers::lecun_normal;
  linear up = {.in = width, .out = hidden, .use_bias = use_bias, .kernel_init = kernel_init};
  linear down = {.in = hidden, .out = width, .use_bias = use_bias, .kernel_init = kernel_init};

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    return down(activation(up(x, l), l), l);
  }
};

/// y = down(activation(gate(x)) * up(x)), without biases.
///
/// shapes  x [..., width] -> the same
/// init    as linear
/// source  Shazeer 2020, arXiv:2002.05202 (SwiGLU with silu)
struct gated_mlp {
  int width = 0, hidden = 0;
  activation_function activation = silu;
  initializer kernel_init = initializers::lecun_normal;
  linear gate = {.in = width, .out = hidden, .use_bias = false, .kernel_init = kernel_init};
  linear up = {.in = width, .out = hidden, .use_bias = false, .kernel_init = kernel_init};
  linear down = {.in = hidden, .out = width, .use_bias = false, .kernel_init = kernel_init};

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    return down(activation(gate(x, l), l) * located(up(x, l), l), l);
  }
};

}  // namespace tokamax::nn
