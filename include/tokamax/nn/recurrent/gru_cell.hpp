// tokamax/nn/recurrent/gru_cell.hpp: recurrent cells whose gates mix the state with a candidate.
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

/// A cell whose gates mix the state with a candidate. With [r, z, n] = input(x) and [u, v, m] = hidden(h):
///
///   r = sigmoid(r + u), z = sigmoid(z + v), n = tanh(n + r m),  h = (1 - z) n + z h
///
/// shapes  x [..., in], state [..., width] -> the next state, twice; input.kernel [in, 3 width], hidden.kernel [width, 3 width]
/// dtypes  those of the two layers
/// init    input lecun_normal, hidden orthogonal, bias of input zeros; PyTorch has one in hidden, too: `.hidden = {..., .use_bias = true}`
/// source  flax.nnx.GRUCell; Cho et al. 2014, arXiv:1406.1078
struct gru_cell {
  int in = 0, width = 0;
  linear input{.in = in, .out = 3 * width};
  linear hidden{.in = width, .out = 3 * width, .use_bias = false, .kernel_init = initializers::orthogonal<>};
  activation_function gate = sigmoid, activation = tanh;  ///< in place of sigmoid and tanh

  /// The state before the first step: zeros.
  constexpr array start(const shape& batch, dtype type = f32) const { return detail::no_state(batch, width, type); }
  constexpr std::pair<array, array> operator()(const array& h, const array& x,
                                               source_line l = source_line::current()) const {
    return step(h, read(x, l), recall(h, l), l);
  }
  /// What a step reads of x and of the state, and the step.
  constexpr array read(const array& x, source_line l) const { return input(x, l); }
  constexpr array recall(const array& h, source_line l) const { return hidden(h, l); }
  constexpr std::pair<array, array> step(const array& h, const array& read_of_x, const array& recalled,
                                         source_line l) const {
    const arrays of_x = split(read_of_x, 3, -1, l), of_h = split(recalled, 3, -1, l);
    const array reset = gate(of_x[0] + of_h[0], l), update = gate(of_x[1] + of_h[1], l);
    const array next = (1.0 - update) * activation(of_x[2] + reset * of_h[2], l) + update * h;
    return {next, next};
  }
};

/// A GRU with one gate. With [f, n] = input(x) and [u, m] = hidden(h):
///
///   f = sigmoid(f + u), n = tanh(n + f m), or n = tanh(n + m) without `reset_gate`,  h = (1 - f) n + f h
///
/// shapes  x [..., in], state [..., width] -> the next state, twice; input.kernel [in, 2 width], hidden.kernel [width, 2 width]
/// dtypes  those of the two layers
/// init    input lecun_normal, hidden orthogonal, biases of input ones for f and zeros for n
/// source  flax.linen.MGUCell; Zhou and others 2016, arXiv:1603.09420
struct mgu_cell {
  int in = 0, width = 0;
  bool reset_gate = true;
  linear input{.in = in, .out = 2 * width, .bias_init = forget_bias};
  linear hidden{.in = width, .out = 2 * width, .use_bias = false, .kernel_init = initializers::orthogonal<>};
  activation_function gate = sigmoid, activation = tanh;  ///< in place of sigmoid and tanh

  /// The state before the first step: zeros.
  constexpr array start(const shape& batch, dtype type = f32) const { return detail::no_state(batch, width, type); }
  constexpr std::pair<array, array> operator()(const array& h, const array& x,
                                               source_line l = source_line::current()) const {
    return step(h, read(x, l), recall(h, l), l);
  }
  /// What a step reads of x and of the state, and the step.
  constexpr array read(const array& x, source_line l) const { return input(x, l); }
  constexpr array recall(const array& h, source_line l) const { return hidden(h, l); }
  constexpr std::pair<array, array> step(const array& h, const array& read_of_x, const array& recalled,
                                         source_line l) const {
    const arrays of_x = split(read_of_x, 2, -1, l), of_h = split(recalled, 2, -1, l);
    const array keep = gate(of_x[0] + of_h[0], l);
    array candidate = of_x[1] + of_h[1];
    if (reset_gate) candidate = of_x[1] + keep * of_h[1];
    const array next = (1.0 - keep) * activation(candidate, l) + keep * h;
    return {next, next};
  }
  /// Ones for the gate, which then keeps much in the beginning, and zeros for the candidate.
  static constexpr array forget_bias(const random::key&, const shape& s) {
    return astype(iota(i32, s, 0) < s[0] / 2, f32);
  }
};

}  // namespace tokamax::nn
