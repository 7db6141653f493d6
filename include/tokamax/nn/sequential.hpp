// tokamax/nn/sequential.hpp: layers that are called one after the other.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (a model is a struct of layers, whose call says what happens)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <tuple>  // tuple

namespace tokamax::nn {

/// Layers and functions, each of which gets the result of the one before it:
/// `sequential model{std::tuple{linear{784, 128}, relu_layer, linear{128, 10}}}`. Those that change, such as batch_norm, make the call change
/// the model.
/// source  flax.nnx.Sequential
template <class... Layers>
struct sequential {
  std::tuple<Layers...> layers;

  constexpr array operator()(const array& x) { return through(layers, x); }
  constexpr array operator()(const array& x) const { return through(layers, x); }

 private:
  template <class Tuple>
  static constexpr array through(Tuple& all, const array& x) {
    array y = x;
    std::apply([&](auto&... layer) { ((y = layer(y)), ...); }, all);
    return y;
  }
};
template <class... Layers>
sequential(std::tuple<Layers...>) -> sequential<Layers...>;

}  // namespace tokamax::nn
