// tokamax/nn/recurrent/simple_cell.hpp: a recurrent cell of one layer.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/nn/initializers/orthogonal_initializers.hpp>  // orthogonal
#include <tokamax/nn/linear/linear.hpp>                         // linear
#include <tokamax/nn/linear/mlp.hpp>                            // activation_function
#include <tokamax/nn/recurrent/no_state.hpp>                    // no_state

#include <utility>  // pair

namespace tokamax::nn {

/// h = tanh(input(x) + hidden(h)), or tanh(input(x) + hidden(h) + h) with `residual`.
/// shapes  x [..., in], state [..., width] -> the next state, twice
/// dtypes  those of the two layers
/// init    input lecun_normal, hidden orthogonal, bias of input zeros
/// source  flax.nnx.SimpleCell; Elman 1990
struct simple_cell {
  int in = 0, width = 0;
  linear input{.in = in, .out = width};
  linear hidden{.in = width, .out = width, .use_bias = false, .kernel_init = initializers::orthogonal<>};
  bool residual = false;
  activation_function activation = tanh;

  /// The state before the first step: zeros.
  constexpr array start(const shape& batch, dtype type = f32) const { return detail::no_state(batch, width, type); }
  constexpr std::pair<array, array> operator()(const array& h, const array& x,
                                               source_line l = source_line::current()) const {
    return step(h, read(x, l), recall(h, l), l);
  }
  /// What a step reads of x and of the state, and the step.
  constexpr array read(const array& x, source_line l) const { return input(x, l); }
  constexpr array recall(const array& h, source_line l) const { return hidden(h, l); }
  constexpr std::pair<array, array> step(const array& h, const array& of_x, const array& of_h, source_line l) const {
    array next = of_x + of_h;
    if (residual) next = next + h;
    next = activation(next, l);
    return {next, next};
  }
};

}  // namespace tokamax::nn
