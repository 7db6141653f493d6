// tokamax/ops/layer_norm.hpp: normalise the last axis to zero mean and unit variance.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/numpy/statistics.hpp>  // mean

namespace tokamax {

/// How layer_norm is asked to behave: `layer_norm(x, scale, offset, {.epsilon = 1e-5})`.
struct layer_norm_options {
  double epsilon = 1e-6;  ///< added to the variance before the root
};

constexpr array layer_norm(const array& x, const array& scale, const array& offset, layer_norm_options options = {},
                           source_line l = source_line::current());
constexpr arrays layer_norm_vjp(const array& x, const array& scale, const array& ct, layer_norm_options options = {},
                                source_line l = source_line::current());

namespace detail {
inline constexpr reduce_options over_last{.axis = {-1}, .keepdims = true};

struct standardized {
  array x_hat;  // [..., C], zero mean and unit variance
  array rstd;   // [..., 1]
};
constexpr standardized standardize(const array& x, double epsilon) {
  const array v = carried(x);
  const array centred = v - mean(v, over_last);
  const array rstd = rsqrt(mean(centred * centred, over_last) + epsilon);
  return {centred * rstd, rstd};
}
/// The sum over the axes [first, rank - 1): the gradient of a parameter that is shared by rows.
constexpr array sum_rows(const array& x, int first = 0) {
  axes rows;
  for (int i = first; i + 1 < x.rank(); ++i) rows.push_back(i);
  return reduce_sum(x, rows);
}
/// A parameter [C], or [B, C] with one row for each example, as sums are carried and with the axes to be multiplied by x [B, ..., C].
constexpr array spread_parameter(const array& p, const shape& x, bool batched) {
  const array v = carried(p);
  if (batched) return broadcast_in_dim(v, x, {0, x.rank() - 1});
  return v;
}
/// dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat)) with g = ct * scale. The gradients of the parameters keep the first
/// `kept` axes.
constexpr arrays layer_norm_gradients(const array& x, const array& scale, const array& upstream, double epsilon,
                                      int kept, dtype parameter) {
  const auto [x_hat, rstd] = standardize(x, epsilon);
  const array ct = carried(upstream), g = ct * scale;
  const array dx = rstd * (g - mean(g, over_last) - x_hat * mean(g * x_hat, over_last));
  return {astype(dx, x.dtype()), astype(sum_rows(ct * x_hat, kept), parameter), astype(sum_rows(ct, kept), parameter)};
}
}  // namespace detail

/// The gradients of layer_norm as one op, so that a backend can make one pass over the rows.
inline constexpr op layer_norm_vjp_p{
    .name = "layer_norm_vjp",
    .precision = {.kernels_in_f32 = true},
    .attributes = schema<layer_norm_options>,
    .infer_all = [](const call& c) -> types {
      if (!is_floating(c[0].dtype()) || c[0].rank() == 0)
        c.fail("layer_norm_vjp: x", c[0].type(), "floats with an axis");
      else if (detail::extents_are(c, 1, 1, {c[0].extent(-1)}))
        detail::extents_are(c, 2, 2, c[0].shape());
      return {c[0].type(), c[1].type(), c[1].type()};
    },
    .compose = [](const call& c) -> arrays {
      return detail::layer_norm_gradients(c[0], detail::carried(c[1]), c[2], c.attrs<layer_norm_options>().epsilon, 0,
                                          c[1].dtype());
    },
    .batch = [](const call& c) -> arrays {
      const array x = with_batch_axis(c, 0), ct = with_batch_axis(c, 2);
      const array scale = detail::spread_parameter(c[1], x.shape(), c.batched(1));
      return detail::layer_norm_gradients(x, scale, ct, c.attrs<layer_norm_options>().epsilon, 1, c[1].dtype());
    },
    .kernels = kernels_of<layer_norm_vjp_p>,
};

inline constexpr op layer_norm_p{
    .name = "layer_norm",
    .stablehlo = "tokamax.layer_norm",
    .precision = {.kernels_in_f32 = true},
    .attributes = schema<layer_norm_options>,
    .infer = [](const call& c) -> array_type {
      if (!is_floating(c[0].dtype()) || c[0].rank() == 0)
        return c.fail("layer_norm: x", c[0].type(), "floats with an axis");
      array_type parameter{c[1].dtype(), false, {c[0].extent(-1)}};
      if (!(c[1].type() == parameter)) return c.fail("layer_norm: scale", c[1].type(), parameter);
      if (!(c[2].type() == parameter)) return c.fail("layer_norm: offset", c[2].type(), parameter);
      return c[0].type();
    },
    .compose = [](const call& c) -> arrays {
      const array x_hat = detail::standardize(c[0], c.attrs<layer_norm_options>().epsilon).x_hat;
      return astype(x_hat * detail::carried(c[1]) + detail::carried(c[2]), c[0].dtype());
    },
    .vjp = [](const call& c) -> arrays {
      return layer_norm_vjp(c[0], c[1], c.ct(), c.attrs<layer_norm_options>(), {});
    },
    .batch = [](const call& c) -> arrays {
      const auto options = c.attrs<layer_norm_options>();
      const array x = with_batch_axis(c, 0);
      if (!c.batched(1) && !c.batched(2)) return layer_norm(x, c[1], c[2], options);
      // Each example has its own scale and offset. The row op normalises without them, and they are applied afterwards.
      const shape feature{c[0].extent(-1)};
      const array x_hat = layer_norm(x, ones(feature, c[1].dtype()), zeros(feature, c[2].dtype()), options);
      const array scale = detail::spread_parameter(c[1], x.shape(), c.batched(1));
      return astype(x_hat * scale + detail::spread_parameter(c[2], x.shape(), c.batched(2)), x.dtype());
    },
    .kernels = kernels_of<layer_norm_p>,
};

/// Normalises the last axis of `x` to zero mean and unit variance, then applies an affine map.
///
///   y = (x - mean(x)) / sqrt(var(x) + epsilon) * scale + offset
///
/// shapes  x [..., C], scale [C], offset [C] -> [..., C]
/// dtypes  any float, computed in f32, f64 in f64; the result has the dtype of x
/// errors  "layer_norm: scale", "layer_norm: offset" if one is not [C] or their dtypes differ
/// source  Ba, Kiros, Hinton 2016, arXiv:1607.06450, eq. 3-4; epsilon as in flax.nnx.LayerNorm
/// see     rms_norm, nn::layer_norm
constexpr array layer_norm(const array& x, const array& scale, const array& offset, layer_norm_options options,
                           source_line l) {
  return bind(layer_norm_p, {x, scale, offset}, options, l);
}

/// The cotangents {dx, dscale, doffset} of layer_norm(x, scale, offset) for the cotangent `ct` of its result.
///
/// shapes  x and ct [..., C], scale [C] -> [..., C], [C], [C]
constexpr arrays layer_norm_vjp(const array& x, const array& scale, const array& ct, layer_norm_options options,
                                source_line l) {
  const array in[] = {x, scale, ct};
  return bind_all(layer_norm_vjp_p, in, 3, pack(options), l);
}

}  // namespace tokamax
