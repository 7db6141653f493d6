// tokamax/ops/quantized/as_quantized.hpp: floats that a product quantises when it reads them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
// tested by tests/ops/quantized/ragged_dot.cpp
#pragma once

#include <tokamax/ops/quantized/quantize.hpp>        // quantize, fake_quantize
#include <tokamax/transforms/custom/custom_vjp.hpp>  // custom_vjp
#include <tokamax/transforms/vjp.hpp>                // vjp

#include <tuple>        // tuple
#include <type_traits>  // is_same_v

namespace tokamax {

/// An operand that products take beside arrays and quantised arrays: `ragged_dot(as_quantized{x, {.tiles = {1, 128}}}, w, sizes)`.
/// gradients  those of the product of the rounded numbers, which pass through the rounding as if it were not there
/// errors  those of quantize; "custom_vjp: derivative" of a jvp
/// source  tokamax.AsQArray; the gradients are those of qwix.dot_general_qt
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
/// The dtype of the numbers that a side stands for.
constexpr dtype numbers_type(const array& x) { return x.dtype(); }
constexpr dtype numbers_type(const quantized_array& x) { return x.type(); }
constexpr dtype numbers_type(const as_quantized& x) { return carrying(x.values.dtype()); }
/// The numbers that a side stands for as floats, with the gradients of fake_quantize.
constexpr quantized_array numbers_of(const array& x, source_line) { return {x, {}}; }
constexpr quantized_array numbers_of(const quantized_array& x, source_line l) { return {dequantize(x, l), {}}; }
constexpr quantized_array numbers_of(const as_quantized& x, source_line l) {
  return {fake_quantize(astype(x.values, carrying(x.values.dtype()), l), x.options, l), {}};
}
/// The arrays of a side, and the side with other arrays.
template <class Side>
constexpr const auto& values_of(const Side& x) {
  if constexpr (std::is_same_v<Side, as_quantized>)
    return x.values;
  else
    return x;
}
template <class Side, class Values>
constexpr Side with_values(const Side& x, const Values& values) {
  if constexpr (std::is_same_v<Side, as_quantized>)
    return {values, x.options};
  else
    return values;
}
template <class Side>
constexpr bool rounds_in_trace(const Side& x, source_line l) {
  if constexpr (std::is_same_v<Side, as_quantized>)
    return x.values.is_traced() && quantize_fits(x.values, x.options, l);
  else
    return false;
}

/// product(left, right) of the quantised sides. In a trace, what is quantised on entry gets the gradients of the product of
/// the rounded numbers in floats: rounding itself has none.
template <class Product, class Left, class Right>
constexpr array straight_through(const Product& product, const Left& left, const Right& right, source_line l) {
  if (!rounds_in_trace(left, l) && !rounds_in_trace(right, l))
    return product(quantized_side(left, l), quantized_side(right, l));
  const auto quantized = [&](const auto& a, const auto& b) -> array {
    return product(quantized_side(with_values(left, a), l), quantized_side(with_values(right, b), l));
  };
  const auto in_floats = [&](const auto& a, const auto& b) -> array {
    return product(numbers_of(with_values(left, a), l), numbers_of(with_values(right, b), l));
  };
  const auto forward = [&](const auto& a, const auto& b) { return std::pair{quantized(a, b), std::tuple{a, b}}; };
  const auto backward = [&](const auto& sides, const array& ct) {
    return vjp(in_floats, std::get<0>(sides), std::get<1>(sides)).second(ct);
  };
  return custom_vjp(quantized, forward, backward, l)(values_of(left), values_of(right));
}
}  // namespace detail

}  // namespace tokamax
