// expects: recurrent_cell
// tests/nn/recurrent/rnn.not_a_cell.fail.cpp: a layer that is no cell is taken over time.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/recurrent/rnn.hpp>
#include <tokamax/nn/recurrent/simple_cell.hpp>

namespace nn = tokamax::nn;

int main() {
#ifdef TOKAMAX_FIXED
  const nn::rnn<nn::simple_cell> layer{.cell = {.in = 6, .width = 6}};
#else
  const nn::rnn<nn::linear> layer{.cell = {.in = 6, .out = 6}};
#endif
  return layer.unroll - 1;
}
