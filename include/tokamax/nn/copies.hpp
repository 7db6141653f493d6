// tokamax/nn/copies.hpp: equal layers in a row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>

#include <array>    // array
#include <utility>  // index_sequence

namespace tokamax::nn {

/// N layers with the options of one: `std::array<nn::linear, 2> layers = nn::copies<2>(nn::linear{32, 32})`. `init` gives each
/// values of its own.
///
/// The g++ 13 of Ubuntu 24.04 fails on a list of layers that is the default of a field, `layers{nn::linear{2, 2}, nn::linear{2, 2}}`;
/// it takes what a function returns.
template <std::size_t N, class Layer>
constexpr std::array<Layer, N> copies(const Layer& layer) {
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::array<Layer, N>{(static_cast<void>(Index), layer)...};
  }(std::make_index_sequence<N>{});
}

}  // namespace tokamax::nn
