// tokamax/ops/gated_linear_unit.hpp: a product of two projections, one of them after an activation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/scope/use_implementation.hpp>  // implementation_names
#include <tokamax/lax/dot_general.hpp>                // dot_general
#include <tokamax/lax/indexing/slice.hpp>             // slice_in_dim
#include <tokamax/ops/activations.hpp>                // no_activation

#include <utility>  // pair

namespace tokamax {

/// How gated_linear_unit multiplies.
struct gated_linear_unit_options {
  dot_algorithm algorithm = dot_algorithm::unspecified;  ///< as for dot_general
  implementation_names implementation = {};              ///< of dot_general, see use_implementation
};

/// The result of a gated linear unit, and what its activation and product have read.
struct gated_linear_unit_result {
  array out;             ///< [..., N]
  array pre_activation;  ///< [..., 2, N]: x Wg, then x Wu, in the dtype of sums
};

namespace detail {
/// x [..., K] times one matrix [K, N] in the dtype of sums, or a refusal. The sums of bf16 have f32 cotangents, which the products
/// of the backward pass round to bf16, so that these are as fast as those forward.
constexpr array gated_product(const array& x, const array& w, const gated_linear_unit_options& o, source_line l) {
  const int features = x.rank() - 1;
  const use_implementation named("dot_general", o.implementation, x, w);
  const dot_algorithm algorithm = algorithm_of(x.dtype(), o.algorithm);
  return dot_general(x, w, {{features}, {0}, {}, {}, carrying(x.dtype()), algorithm}, l);
}
/// Rejects x and one of the weights, of this rank. False if it has.
constexpr bool gated_operands(const array& x, const array& w, int rank, source_line l) {
  const array both[] = {x, w};
  const bool known = is_floating(x.dtype()) && x.rank() > 0;
  if (!known) {
    reject(both, 2, l, "gated_linear_unit: x", x.type(), "floats [..,K]");
    return false;
  }
  const bool fit =
      w.rank() == rank && w.dtype() == x.dtype() && w.extent(0) == x.extent(-1) && (rank == 2 || w.extent(1) == 2);
  if (!fit)
    reject(both, 2, l, "gated_linear_unit: weights", w.type(),
           message(rank == 2 ? "[K,N]" : "[K,2,N]") << " of the dtype and the K of " << x.type());
  return fit;
}
}  // namespace detail

/// A gated linear unit, and its projections before the activation, which a backward pass of one's own may want.
///
/// shapes  x [..., K], weights [K, 2, N] -> out [..., N], pre_activation [..., 2, N]
/// see     gated_linear_unit
template <class Activation = no_activation>
constexpr gated_linear_unit_result gated_linear_unit_with_residuals(const array& x, const array& weights,
                                                                    const Activation& activation = {},
                                                                    const gated_linear_unit_options& options = {},
                                                                    source_line l = source_line::current()) {
  if (!detail::gated_operands(x, weights, 3, l)) return {x, x};
  const std::int64_t n = weights.extent(2);
  const array both = detail::gated_product(x, reshape(weights, {weights.extent(0), mul_extent(2, n)}, l), options, l);
  shape s = detail::leading(both);
  s.push_back(2), s.push_back(n);
  const array pre = reshape(both, s, l);  // [..., 2, N]
  const int axis = pre.rank() - 2;
  const auto half = [&](int i) { return squeeze(slice_in_dim(pre, i, i + 1, axis, l), axis, l); };
  return {astype(activation(half(0)) * half(1), x.dtype(), l), pre};
}

/// The product of two projections, one of them after an activation: silu gives the layers of Llama, sigmoid those of
/// AlphaFold, and none a bilinear layer.
///
///   y = activation(x Wg) * (x Wu), with Wg = weights[:, 0] and Wu = weights[:, 1]
///
/// shapes  x [..., K], weights [K, 2, N] -> [..., N]
/// dtypes  x and weights one float dtype; activation and product are f32, f64 for f64; the result has the dtype of x
/// errors  "gated_linear_unit: x", "gated_linear_unit: weights"
/// source  tokamax.gated_linear_unit; Shazeer 2020, arXiv:2002.05202
template <class Activation = no_activation>
constexpr array gated_linear_unit(const array& x, const array& weights, const Activation& activation = {},
                                  const gated_linear_unit_options& options = {},
                                  source_line l = source_line::current()) {
  return gated_linear_unit_with_residuals(x, weights, activation, options, l).out;
}

/// The same with the matrices {Wg, Wu} apart, [K, N] each.
template <class Activation = no_activation>
constexpr array gated_linear_unit(const array& x, const std::pair<array, array>& weights,
                                  const Activation& activation = {}, const gated_linear_unit_options& options = {},
                                  source_line l = source_line::current()) {
  const auto& [gate, up] = weights;
  if (!detail::gated_operands(x, gate, 2, l) || !detail::gated_operands(x, up, 2, l)) return x;
  if (gate.shape() != up.shape()) {
    reject(x, l, "gated_linear_unit: weights", up.type(), message() << gate.type());
    return x;
  }
  const array product =
      activation(detail::gated_product(x, gate, options, l)) * detail::gated_product(x, up, options, l);
  return astype(product, x.dtype(), l);
}

}  // namespace tokamax
