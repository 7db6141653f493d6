// tokamax/ops/quantized/as_quantized.hpp: floats that a product quantises when it reads them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/quantized/ragged_dot.cpp
#pragma once

#include <tokamax/ops/quantized/quantize.hpp>  // quantize

#include <type_traits>  // is_same_v

namespace tokamax {

/// An operand that products take beside arrays and quantised arrays: `ragged_dot(as_quantized{x, {.tiles = {1, 128}}}, w, sizes)`.
/// errors  those of quantize; "quantize: gradient" where a derivative would pass, since rounding has none
/// source  tokamax.AsQArray
struct as_quantized {
  array values;
  quantize_options options = {};
};

/// What a product of quantised arrays may read.
template <class T>
concept product_side =
    std::is_same_v<T, array> || std::is_same_v<T, quantized_array> || std::is_same_v<T, as_quantized>;

/// The sides of a product of which at least one is quantised.
template <class Left, class Right>
concept quantized_sides =
    product_side<Left> && product_side<Right> && !(std::is_same_v<Left, array> && std::is_same_v<Right, array>);

namespace detail {
/// The side as a quantised array. Floats have no scale.
constexpr quantized_array quantized_side(const array& x, source_line) { return {x, {}}; }
constexpr quantized_array quantized_side(const quantized_array& x, source_line) { return x; }
constexpr quantized_array quantized_side(const as_quantized& x, source_line l) {
  return quantize(x.values, x.options, l);
}
}  // namespace detail

}  // namespace tokamax
