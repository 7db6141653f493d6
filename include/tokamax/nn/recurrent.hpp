// tokamax/nn/recurrent.hpp: recurrent cells (LSTM, GRU, simple), and a layer that takes one over time.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
#pragma once

#include <tokamax/lax/iota.hpp>                      // zeros
#include <tokamax/lax/shapes/concatenate.hpp>        // concatenate
#include <tokamax/lax/shapes/split.hpp>              // split
#include <tokamax/nn/linear.hpp>                     // linear
#include <tokamax/nn/orthogonal_initializers.hpp>    // orthogonal
#include <tokamax/numpy/manipulation/axes.hpp>       // moveaxis
#include <tokamax/ops/activations.hpp>               // sigmoid
#include <tokamax/transforms/control_flow/scan.hpp>  // scan

#include <utility>  // pair

namespace tokamax::nn {

namespace detail {
/// Zeros [batch..., width].
constexpr array no_state(shape batch, int width, dtype type) {
  batch.push_back(width);
  return zeros(batch, type);
}
}  // namespace detail

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
/// init    input lecun_normal, hidden orthogonal, bias zeros
/// source  flax.nnx.OptimizedLSTMCell; Hochreiter, Schmidhuber 1997
struct lstm_cell {
  int in = 0, width = 0;
  linear input{.in = in, .out = 4 * width, .use_bias = false};
  linear hidden{.in = width, .out = 4 * width, .kernel_init = initializers::orthogonal<>};

  /// The state before the first step: zeros.
  constexpr lstm_state start(const shape& batch, dtype type = f32) const {
    return {detail::no_state(batch, width, type), detail::no_state(batch, width, type)};
  }
  constexpr std::pair<lstm_state, array> operator()(const lstm_state& s, const array& x,
                                                    source_line l = source_line::current()) const {
    const arrays gates = split(input(x, l) + hidden(s.hidden, l), 4, -1, l);
    const array cell = sigmoid(gates[1]) * s.cell + sigmoid(gates[0]) * tanh(gates[2]);
    const array next = sigmoid(gates[3]) * tanh(cell);
    return {{cell, next}, next};
  }
};

/// A cell whose gates mix the state with a candidate. With [r, z, n] = input(x) and [u, v] = hidden(h):
///
///   r = sigmoid(r + u), z = sigmoid(z + v), n = tanh(n + r candidate(h)),  h = (1 - z) n + z h
///
/// shapes  x [..., in], state [..., width] -> the next state, twice; input.kernel [in, 3 width], hidden.kernel [width, 2 width],
///         candidate.kernel [width, width]
/// init    input lecun_normal, the others orthogonal, biases of input and candidate zeros
/// source  flax.nnx.GRUCell; Cho et al. 2014, arXiv:1406.1078
struct gru_cell {
  int in = 0, width = 0;
  linear input{.in = in, .out = 3 * width};
  linear hidden{.in = width, .out = 2 * width, .use_bias = false, .kernel_init = initializers::orthogonal<>};
  linear candidate{.in = width, .out = width, .kernel_init = initializers::orthogonal<>};

  /// The state before the first step: zeros.
  constexpr array start(const shape& batch, dtype type = f32) const { return detail::no_state(batch, width, type); }
  constexpr std::pair<array, array> operator()(const array& h, const array& x,
                                               source_line l = source_line::current()) const {
    const arrays of_x = split(input(x, l), 3, -1, l), of_h = split(hidden(h, l), 2, -1, l);
    const array reset = sigmoid(of_x[0] + of_h[0]), update = sigmoid(of_x[1] + of_h[1]);
    const array next = (1.0 - update) * tanh(of_x[2] + reset * candidate(h, l)) + update * h;
    return {next, next};
  }
};

/// h = tanh(input(x) + hidden(h)).
/// shapes  x [..., in], state [..., width] -> the next state, twice
/// init    input lecun_normal, hidden orthogonal, bias of input zeros
/// source  flax.nnx.SimpleCell; Elman 1990
struct simple_cell {
  int in = 0, width = 0;
  linear input{.in = in, .out = width};
  linear hidden{.in = width, .out = width, .use_bias = false, .kernel_init = initializers::orthogonal<>};

  /// The state before the first step: zeros.
  constexpr array start(const shape& batch, dtype type = f32) const { return detail::no_state(batch, width, type); }
  constexpr std::pair<array, array> operator()(const array& h, const array& x,
                                               source_line l = source_line::current()) const {
    const array next = tanh(input(x, l) + hidden(h, l));
    return {next, next};
  }
};

/// Takes a cell over time by one `scan`: `rnn<lstm_cell> layer{.cell = {.in = 8, .width = 16}}`.
///
/// shapes  x [batch..., time, in] -> [batch..., time, width]
/// errors  "rnn: rank" if x has no axis of time
/// source  flax.nnx.RNN
template <class Cell>
struct rnn {
  Cell cell;
  bool reverse = false;  ///< from the last time to the first; results stay in the order of x

  constexpr array operator()(const array& x, source_line l = source_line::current()) const { return run(x, l).second; }
  /// The last state, too.
  constexpr auto run(const array& x, source_line l = source_line::current()) const {
    shape batch;
    for (int i = 0; i + 2 < x.rank(); ++i) batch.push_back(x.extent(i));
    promoted type{x.dtype(), x.type().weak};  // the state has the dtype of sums of x and the parameters
    for_each_leaf([&](const array& a) { type = promote(type, {a.dtype(), false}); }, cell);
    const auto start = cell.start(batch, type.type);
    using result = std::pair<std::remove_const_t<decltype(start)>, array>;
    if (x.rank() < 2) {
      reject(x, l, "rnn: rank", x.type(), "[batch..., time, in]");
      return result{start, x};
    }
    const auto step = [&](const auto& s, const array& now) { return cell(s, now, l); };
    const auto [last, ys] = scan(step, start, moveaxis(x, -2, 0, l), {.reverse = reverse});
    return result{last, moveaxis(ys, 0, -2, l)};
  }
};

/// Two layers over time, forwards and backwards, whose results stand side by side.
/// shapes  x [batch..., time, in] -> [batch..., time, width of both]
/// source  flax.nnx.Bidirectional
template <class Cell>
struct bidirectional {
  rnn<Cell> forward, backward;
  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    rnn<Cell> back = backward;
    back.reverse = true;
    return concatenate({forward(x, l), back(x, l)}, -1, l);
  }
};

}  // namespace tokamax::nn
