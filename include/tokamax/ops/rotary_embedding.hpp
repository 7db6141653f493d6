// tokamax/ops/rotary_embedding.hpp: turn pairs of features by angles that grow with the position.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/unary.hpp>  // cos, sin, power
#include <tokamax/lax/indexing/gather.hpp>    // index_in_i32
#include <tokamax/lax/iota.hpp>               // iota, full
#include <tokamax/lax/shapes/reverse.hpp>     // reverse

namespace tokamax {

/// How rotary_embedding is asked to behave: `rotary_embedding(x, positions, {.base = 5e5})`.
struct rotary_embedding_options {
  double base = 10000.0;     ///< pair i turns by base^(-2i / H) radians for each position; at least 1
  bool interleaved = false;  ///< pairs are features (2i, 2i + 1) instead of (i, i + H/2)
  bool inverse = false;      ///< turns by the negative angles
};

constexpr array rotary_embedding(const array& x, const array& positions, rotary_embedding_options options = {},
                                 source_line l = source_line::current());

namespace detail {
/// 0, 1, ... along one axis, as a value of the trace that a rule works in.
constexpr array counted(const call& c, const shape& s, int axis) {
  return lift(*c.trace, iota(carrying(c[0].dtype()), s, axis), c.where);
}

/// The angles of the pairs, for all heads: [..., T, 1, H/2].
constexpr array rotary_angles(const call& c, std::int64_t half, double base) {
  const array frequency =
      power(full({}, base, carrying(c[0].dtype())), counted(c, {half}, 0) / static_cast<double>(-half));
  return expand_dims(expand_dims(astype(c[1], carrying(c[0].dtype())), -1), -1) * frequency;
}
/// Two products and a sum for each element, and a sine or cosine for each feature of a position.
constexpr op_cost rotary_cost(const call& c) {
  return {.flops = 3.0 * static_cast<double>(c[0].size()),
          .transcendentals = static_cast<double>(c[1].size() * c[0].extent(-1))};
}
}  // namespace detail

/// The op is linear in x and orthogonal, so its transpose turns by the negative angles.
inline constexpr op rotary_embedding_p{
    .name = "rotary_embedding",
    .stablehlo = "tokamax.rotary_embedding",
    .precision = {.kernels_in_f32 = true},
    .cost = {.operations = detail::rotary_cost},
    .attributes = schema<rotary_embedding_options>,
    .infer = [](const call& c) -> array_type {
      const array_type x = c[0].type();
      if ((x.dtype != f32 && x.dtype != bf16 && x.dtype != f64) || x.shape.rank() < 3 || x.shape[-1] <= 0 ||
          x.shape[-1] % 2 != 0)
        return c.fail("rotary_embedding: x", x, "f32, bf16 or f64 [...,T,N,H], H = 2, 4, ...");
      shape places;  // [..., T]
      for (int i = 0; i + 2 < x.shape.rank(); ++i) places.push_back(x.shape[i]);
      bool fit = c[1].dtype() == i32;
      if (!(broadcast_shapes(c[1].shape(), places, fit) == places) || !fit)
        return c.fail("rotary_embedding: positions", c[1].type(), message("i32 that fits ") << places);
      if (!(c.attrs<rotary_embedding_options>().base >= 1))
        return c.fail("rotary_embedding: base", "less than 1", "at least 1");
      return x;
    },
    // y = v cos + partner(v) (-sin, sin), with the two of a pair along an axis of their own
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<rotary_embedding_options>();
      const std::int64_t half = c[0].extent(-1) / 2;
      shape pairs = c[0].shape(), of_sign{1, 1};
      pairs[-1] = o.interleaved ? half : 2;
      pairs.push_back(o.interleaved ? 2 : half);  // [..., T, N, H/2, 2] or [..., T, N, 2, H/2]
      const int two = o.interleaved ? -1 : -2;
      of_sign[two] = 2;
      const array sign = (detail::counted(c, of_sign, two + 2) * 2.0 - 1.0) * (o.inverse ? -1.0 : 1.0);
      const array angle = expand_dims(detail::rotary_angles(c, half, o.base), two);
      const array v = reshape(detail::carried(c[0]), pairs);
      const array y = v * cos(angle) + reverse(v, {two + pairs.rank()}) * (sign * sin(angle));
      return astype(reshape(y, c[0].shape()), c[0].dtype());
    },
    .vjp = [](const call& c) -> arrays {
      auto o = c.attrs<rotary_embedding_options>();
      o.inverse = !o.inverse;
      return {rotary_embedding(c.ct(), c[1], o), array()};
    },
    .jvp = [](const call& c) -> arrays {
      return rotary_embedding(c.tangents[0], c[1], c.attrs<rotary_embedding_options>());
    },
    .batch = [](const call& c) -> arrays {
      const array x = with_batch_axis(c, 0);
      array positions = c[1];
      if (c.batched(1)) {
        shape s{c.batch_size};  // followed by extents of 1 for the axes of x that the positions lack
        for (int i = positions.rank(); i < x.rank() - 2; ++i) s.push_back(1);
        for (int i = 1; i < positions.rank(); ++i) s.push_back(positions.extent(i));
        positions = reshape(positions, s);
      }
      return rotary_embedding(x, positions, c.attrs<rotary_embedding_options>());
    },
    .kernels = kernels_of<rotary_embedding_p>,
};

/// Rotary position embedding. Pair i of the features of each head turns by an angle, which is the position times a
/// frequency. So the product of a query and a key depends on their distance only.
///
///   angle = positions[t] * base^(-2i / H),  i < H/2
///   y[i]       = x[i] cos(angle) - x[i + H/2] sin(angle)
///   y[i + H/2] = x[i + H/2] cos(angle) + x[i] sin(angle)       interleaved: 2i and 2i + 1 instead of i and i + H/2
///
/// shapes  x [..., T, N, H], positions [T], [B, T] or what else broadcasts to [..., T] -> [..., T, N, H]
/// dtypes  x any float, computed in f32, f64 in f64; the result has its dtype; positions i32 or i64. On the CPU, angles are as exact as in
///         f64 at every position; JAX computes them in f32, where they lose digits as positions grow
/// errors  "rotary_embedding: x" if H is odd or not known while tracing, "rotary_embedding: positions",
///         "rotary_embedding: base"
/// source  Su et al. 2021, arXiv:2104.09864, eq. 34; halves as in GPT-NeoX and MaxText, interleaved as in GPT-J
/// see     dot_product_attention
constexpr array rotary_embedding(const array& x, const array& positions, rotary_embedding_options options,
                                 source_line l) {
  const array at = detail::index_in_i32(positions);
  if (!is_floating(x.dtype()) || x.dtype() == f32 || x.dtype() == bf16 || x.dtype() == f64)
    return bind(described<rotary_embedding_p>(), {x, at}, options, l);
  return astype(bind(described<rotary_embedding_p>(), {astype(x, f32, l), at}, options, l), x.dtype(), l);
}

}  // namespace tokamax
