// tokamax/nn/recurrent/bidirectional.hpp: two recurrent layers over one series, forwards and backwards.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/nn/recurrent/rnn.hpp>        // rnn

namespace tokamax::nn {

/// The results of two layers side by side.
constexpr array side_by_side(const array& forward, const array& backward, source_line l) {
  return concatenate({forward, backward}, -1, l);
}

/// Two layers over time, forwards and backwards, whose results stand side by side.
/// shapes  x [batch..., time, in] -> [batch..., time, width of both]; lengths [batch...]
/// errors  those of rnn
/// source  flax.nnx.Bidirectional
template <class Cell>
struct bidirectional {
  rnn<Cell> forward, backward;
  array (*merge)(const array&, const array&, source_line) = side_by_side;  ///< makes one result of two

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    return run(x, {}, l).second;
  }
  /// Of sequences with lengths.
  constexpr array operator()(const array& x, const array& lengths, source_line l = source_line::current()) const {
    return run(x, lengths, l).second;
  }
  /// The last states of both, too.
  constexpr auto run(const array& x, const array& lengths = {}, source_line l = source_line::current()) const {
    rnn<Cell> back = backward;
    back.reverse = back.keep_order = true;
    const auto [first, a] = forward.run(x, lengths, l);
    const auto [last, b] = back.run(x, lengths, l);
    return std::pair{std::pair{first, last}, merge(a, b, l)};
  }
};

}  // namespace tokamax::nn
