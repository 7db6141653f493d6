// tokamax/ops/quantized/gated_linear_unit.hpp: gated linear units whose input or weights are quantised arrays.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/ops/gated_linear_unit.hpp>       // gated_linear_unit_options
#include <tokamax/ops/quantized/as_quantized.hpp>  // quantized_sides
#include <tokamax/ops/quantized/dot_general.hpp>   // quantized_product

namespace tokamax {

namespace detail {
/// The numbers that an operand stands for have this dtype.
constexpr dtype side_type(const quantized_array& x) { return x.scale.exists() ? x.type() : x.qvalue.dtype(); }

/// x [..., K] times weights [K, ...] in the dtype of sums, or a refusal.
constexpr array quantized_gated_product(const quantized_array& x, const quantized_array& w,
                                        const gated_linear_unit_options& o, source_line l) {
  const use_implementation named("dot_general", o.implementation, x.qvalue, w.qvalue);
  const dot_dimensions d{{x.rank() - 1}, {0}, {}, {}, carrying(side_type(x)), o.algorithm};
  return quantized_product(left_operand(x, d), right_operand(w, d), d, l);
}
/// The same of operands that may be quantised on entry, with their gradients.
template <class X, class Weights>
constexpr array quantized_gated_sides(const X& x, const Weights& w, const gated_linear_unit_options& o, source_line l) {
  return straight_through(
      [&](const quantized_array& a, const quantized_array& b) { return quantized_gated_product(a, b, o, l); }, x, w, l);
}
constexpr bool quantized_gated_operands(const quantized_array& x, const quantized_array& w, int rank, source_line l) {
  const array both[] = {x.qvalue, w.qvalue};
  const bool known = is_floating(side_type(x)) && x.rank() > 0;
  if (!known) {
    reject(both, 2, l, "gated_linear_unit: x", x.qvalue.type(), "floats [..,K]");
    return false;
  }
  const bool fit = w.rank() == rank && side_type(w) == side_type(x) && w.extent(0) == x.extent(x.rank() - 1) &&
                   (rank == 2 || w.extent(1) == 2);
  if (!fit)
    reject(both, 2, l, "gated_linear_unit: weights", w.qvalue.type(),
           message(rank == 2 ? "[K,N]" : "[K,2,N]") << " of the numbers and the K of " << x.qvalue.type());
  return fit;
}
}  // namespace detail

/// gated_linear_unit of quantised x or weights, or both, whose products are those of dot_general for quantised arrays.
///
///   y = activation(x Wg) * (x Wu), with Wg = weights[:, 0] and Wu = weights[:, 1]
///
/// shapes  x [..., K], weights [K, 2, N] -> [..., N]
/// dtypes  both stand for numbers of one float dtype, which the result has; activation and product are in the dtype of sums
/// errors  "gated_linear_unit: x", "gated_linear_unit: weights"; those of dequantize and quantize
/// source  tokamax.gated_linear_unit
template <class X, class Weights, class Activation = no_activation>
  requires quantized_sides<X, Weights>
constexpr array gated_linear_unit(const X& x, const Weights& weights, const Activation& activation = {},
                                  const gated_linear_unit_options& options = {},
                                  source_line l = source_line::current()) {
  const quantized_array a = detail::quantized_side(x, l), w = detail::quantized_side(weights, l);
  if (!detail::quantized_gated_operands(a, w, 3, l)) return a.qvalue;
  const array both = detail::quantized_gated_sides(x, weights, options, l);  // [..., 2, N]
  const int axis = both.rank() - 2;
  if (axis < 0) return both;
  const auto half = [&](int i) { return squeeze(slice_in_dim(both, i, i + 1, axis, l), axis, l); };
  return astype(activation(half(0)) * half(1), detail::side_type(a), l);
}

/// The same with the matrices {Wg, Wu} apart, [K, N] each.
template <class X, class Gate, class Up, class Activation = no_activation>
  requires(quantized_sides<X, Gate> && product_side<Up>)
constexpr array gated_linear_unit(const X& x, const std::pair<Gate, Up>& weights, const Activation& activation = {},
                                  const gated_linear_unit_options& options = {},
                                  source_line l = source_line::current()) {
  const quantized_array a = detail::quantized_side(x, l), gate = detail::quantized_side(weights.first, l),
                        up = detail::quantized_side(weights.second, l);
  if (!detail::quantized_gated_operands(a, gate, 2, l) || !detail::quantized_gated_operands(a, up, 2, l))
    return a.qvalue;
  if (gate.extent(1) != up.extent(1)) {
    reject(a.qvalue, l, "gated_linear_unit: weights", up.qvalue.type(), message() << gate.qvalue.type());
    return a.qvalue;
  }
  const array product = activation(detail::quantized_gated_sides(x, weights.first, options, l)) *
                        detail::quantized_gated_sides(x, weights.second, options, l);
  return astype(product, detail::side_type(a), l);
}

}  // namespace tokamax
