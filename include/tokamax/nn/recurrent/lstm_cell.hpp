// tokamax/nn/recurrent/lstm_cell.hpp: a recurrent cell with a memory.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/lax/shapes/split.hpp>                         // split
#include <tokamax/nn/initializers/orthogonal_initializers.hpp>  // orthogonal
#include <tokamax/nn/linear/linear.hpp>                         // linear
#include <tokamax/nn/linear/mlp.hpp>                            // activation_function
#include <tokamax/nn/recurrent/no_state.hpp>                    // no_state
#include <tokamax/ops/activations.hpp>                          // sigmoid

#include <utility>  // pair

namespace tokamax::nn {

/// What an lstm_cell carries from step to step.
struct lstm_state {
  array cell, hidden;  ///< [..., width]
};

/// A cell with a memory that gates write, keep and read (its initial values need the target tokamax::linalg). With [i, f, g, o] = input(x) + hidden(h):
///
///   c = sigmoid(f) c + sigmoid(i) tanh(g),  h = sigmoid(o) tanh(c)
///
/// shapes  x [..., in], state [..., width] -> the next state and its hidden part [..., width]; input.kernel [in, 4 width],
///         hidden.kernel [width, 4 width]
/// dtypes  those of the two layers
/// init    input lecun_normal, hidden orthogonal, bias zeros
/// source  flax.nnx.OptimizedLSTMCell, LSTMCell; Hochreiter, Schmidhuber 1997
struct lstm_cell {
  int in = 0, width = 0;
  linear input{.in = in, .out = 4 * width, .use_bias = false};
  linear hidden{.in = width, .out = 4 * width, .kernel_init = initializers::orthogonal<>};
  activation_function gate = sigmoid, activation = tanh;  ///< in place of sigmoid and tanh

  /// The state before the first step: zeros.
  constexpr lstm_state start(const shape& batch, dtype type = f32) const {
    return {detail::no_state(batch, width, type), detail::no_state(batch, width, type)};
  }
  constexpr std::pair<lstm_state, array> operator()(const lstm_state& s, const array& x,
                                                    source_line l = source_line::current()) const {
    return step(s, read(x, l), recall(s, l), l);
  }
  /// What a step reads of x and of the state, and the step.
  constexpr array read(const array& x, source_line l) const { return input(x, l); }
  constexpr array recall(const lstm_state& s, source_line l) const { return hidden(s.hidden, l); }
  constexpr std::pair<lstm_state, array> step(const lstm_state& s, const array& of_x, const array& of_h,
                                              source_line l) const {
    const arrays gates = split(of_x + of_h, 4, -1, l);
    const array cell = gate(gates[1], l) * s.cell + gate(gates[0], l) * activation(gates[2], l);
    const array next = gate(gates[3], l) * activation(cell, l);
    return {{cell, next}, next};
  }
};

}  // namespace tokamax::nn
