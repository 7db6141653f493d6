// tokamax/ops/triangle_multiplication.hpp: pairs updated along the two other sides of their triangles, as in AlphaFold.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/lax/shapes/split.hpp>        // split
#include <tokamax/numpy/einsum.hpp>            // einsum
#include <tokamax/numpy/matmul.hpp>            // matmul
#include <tokamax/ops/gated_linear_unit.hpp>   // gated_linear_unit
#include <tokamax/ops/layer_norm.hpp>          // layer_norm

namespace tokamax {

/// Which edges of a triangle the edge from i to j is updated with.
enum class triangle_kind : std::uint8_t {
  outgoing,  ///< those from i to k and from j to k
  incoming,  ///< those from k to j and from k to i
};

/// The parameters of triangle_multiplication. Scales and offsets may be left out, as in layer_norm.
struct triangle_weights {
  array projection_in, gate_in;           ///< [C, 2, H]: of the two edges that are multiplied
  array projection_out, gate_out;         ///< [H, D] and [C, D]
  array scale_in = {}, offset_in = {};    ///< [C]
  array scale_out = {}, offset_out = {};  ///< [H]
  double epsilon = 1e-6;                  ///< of both normalisations
};

namespace detail {
constexpr bool triangle_operands(const array& x, const array& mask, const triangle_weights& w, source_line l) {
  const auto wrong = [&](const char* what, const array& found, const message& expected) {
    reject(x, l, what, found.type(), expected);
    return false;
  };
  if (!is_floating(x.dtype()) || x.rank() < 3 || x.extent(-2) != x.extent(-3))
    return wrong("triangle_multiplication: x", x, "floats [..,N,N,C]");
  shape pairs = leading(x);
  if (mask.dtype() != bool_ || mask.shape() != pairs)
    return wrong("triangle_multiplication: mask", mask, message("bool") << pairs);
  const std::int64_t c = x.extent(-1);
  for (const array* p : {&w.projection_in, &w.gate_in})
    if (p->rank() != 3 || p->extent(0) != c || p->extent(1) != 2 || p->shape() != w.gate_in.shape())
      return wrong("triangle_multiplication: projection_in", *p, message("[C,2,H] with the C of ") << x.type());
  if (w.projection_out.rank() != 2 || w.projection_out.extent(0) != w.gate_in.extent(2))
    return wrong("triangle_multiplication: projection_out", w.projection_out,
                 message("[H,D] with the H of ") << w.gate_in.type());
  if (w.gate_out.shape() != shape{c, w.projection_out.extent(1)})
    return wrong("triangle_multiplication: gate_out", w.gate_out, message() << shape{c, w.projection_out.extent(1)});
  return true;
}
}  // namespace detail

/// The triangular multiplicative update of the features of pairs (i, j).
///
///   x   = layer_norm(x)
///   a,b = sigmoid(x gate_in) * (x projection_in), 0 where the mask is false
///   y   = sum over k of a[i, k] * b[j, k] for outgoing edges, of a[k, j] * b[k, i] for incoming ones
///   out = (layer_norm(y) projection_out) * sigmoid(x gate_out)
///
/// shapes  x [..., N, N, C], mask [..., N, N], weights as in triangle_weights -> [..., N, N, D]
/// dtypes  x and weights one float dtype, mask bool; normalisations and gates are f32, f64 for f64
/// errors  "triangle_multiplication: x", "triangle_multiplication: mask", "triangle_multiplication: projection_in",
///         "triangle_multiplication: projection_out", "triangle_multiplication: gate_out", those of layer_norm
/// source  tokamax.triangle_multiplication; Jumper et al. 2021, supplement, algorithms 11 and 12
constexpr array triangle_multiplication(const array& x, const array& mask, const triangle_weights& weights,
                                        triangle_kind kind, source_line l = source_line::current()) {
  if (!detail::triangle_operands(x, mask, weights, l)) return x;
  const layer_norm_options norm{.epsilon = weights.epsilon};
  const array rows = layer_norm(x, weights.scale_in, weights.offset_in, norm, l);
  const std::int64_t c = x.extent(-1), h = weights.gate_in.extent(2);
  const auto both = [&](const array& w) { return reshape(w, {c, 1, mul_extent(2, h)}, l); };
  const array gated = gated_linear_unit(
      rows, concatenate({both(weights.gate_in), both(weights.projection_in)}, 1, l),
      [](const array& v) { return sigmoid(v); }, {}, l);  // [..., N, N, 2 H]
  const array seen = broadcast_in_dim(mask, gated.shape(), iota_axes(mask.rank()), l);
  const arrays ab = split(select(seen, gated, zeros_like(gated), l), 2, -1, l);
  const bool outgoing = kind == triangle_kind::outgoing;
  const array y = einsum(outgoing ? "...ikc,...jkc->...ijc" : "...kjc,...kic->...ijc", ab[0], ab[1], l);
  const array out =
      matmul(layer_norm(y, weights.scale_out, weights.offset_out, norm, l), weights.projection_out, {}, l);
  const array gate = sigmoid(detail::carried(matmul(rows, weights.gate_out, {}, l)));
  return astype(detail::carried(out) * gate, x.dtype(), l);
}

}  // namespace tokamax
