// tokamax/nn/recurrent/conv_lstm_cell.hpp: a recurrent cell for series of images.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/nn/recurrent/lstm_cell.hpp>  // lstm_state
#include <tokamax/nn/windows/conv.hpp>         // conv

namespace tokamax::nn {

/// An LSTM whose products are convolutions. With [i, g, f, o] = input(x) + hidden(h):
///
///   c = sigmoid(f + 1) c + sigmoid(i) tanh(g),  h = sigmoid(o) tanh(c)
///
/// shapes  x [batch..., space..., in], state [batch..., space..., width] -> the next state and its hidden part; input.kernel [window...,
///         in, 4 width], hidden.kernel [window..., width, 4 width]
/// init    as conv
/// source  flax.linen.ConvLSTMCell; Shi and others 2015, arXiv:1506.04214
struct conv_lstm_cell {
  int in = 0, width = 0;
  shape window{3, 3};
  conv input{.in = in, .out = 4 * width, .window = window};
  conv hidden{.in = width, .out = 4 * width, .window = window};

  /// Axes of x that are no batch and no time: those of space, and the channels.
  constexpr int feature_axes() const { return window.rank() + 1; }
  /// The state before the first step: zeros, where `places` are the batch and the axes of space.
  constexpr lstm_state start(const shape& places, dtype type = f32) const {
    return {detail::no_state(places, width, type), detail::no_state(places, width, type)};
  }
  constexpr std::pair<lstm_state, array> operator()(const lstm_state& s, const array& x,
                                                    source_line l = source_line::current()) const {
    const arrays gates = split(input(x, l) + hidden(s.hidden, l), 4, -1, l);
    const array cell = sigmoid(gates[2] + 1.0) * s.cell + sigmoid(gates[0]) * tanh(gates[1]);
    const array next = sigmoid(gates[3]) * tanh(cell);
    return {{cell, next}, next};
  }
};

}  // namespace tokamax::nn
