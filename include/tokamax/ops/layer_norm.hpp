// tokamax/ops/layer_norm.hpp: normalise an axis to zero mean and unit variance.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/ops/layer_norm_across.hpp>  // layer_norm_across
#include <tokamax/ops/rms_norm.hpp>           // rms_norm, over_last, sum_rows

namespace tokamax {

/// How layer_norm is asked to behave: `layer_norm(x, scale, offset, {.epsilon = 1e-5})`.
struct layer_norm_options {
  double epsilon = 1e-6;                     ///< added to the variance before the root
  int axis = -1;                             ///< the normalised axis
  double scale_offset = 0;                   ///< added to the scale, so that a scale of zeros can stand for 1
  bool subtract_mean = true;                 ///< otherwise this is rms_norm
  implementation_names implementation = {};  ///< kernel or compose, see use_implementation
};

/// The result of layer_norm, and the moments of x that its gradient needs.
struct layer_norm_result {
  array out;  ///< that of layer_norm
  array mean,
      rstd;  ///< in the dtype of sums, with the extents of x but for the axis; mean is 0 if it is not subtracted
};

constexpr arrays layer_norm_vjp(const array& x, const array& scale, const array& ct, norm_attributes options = {},
                                source_line l = source_line::current());

namespace detail {
struct standardized {
  array x_hat;  // [..., C], zero mean and unit variance
  array rstd;   // [..., 1]
};
constexpr standardized standardize(const array& x, double epsilon) {
  const array centred = less_mean(carried(x), over_last);
  const array rstd = rsqrt(mean(centred * centred, over_last) + epsilon);
  return {centred * rstd, rstd};
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
    .attributes = schema<norm_attributes>,
    .infer_all = [](const call& c) -> types {
      if (!is_floating(c[0].dtype()) || c[0].rank() == 0)
        c.fail("layer_norm_vjp: x", c[0].type(), "floats with an axis");
      else if (detail::extents_are(c, 1, 1, {c[0].extent(-1)}))
        detail::extents_are(c, 2, 2, c[0].shape());
      return {c[0].type(), c[1].type(), c[1].type()};
    },
    .compose = [](const call& c) -> arrays {
      return detail::layer_norm_gradients(c[0], detail::carried(c[1]), c[2], c.attrs<norm_attributes>().epsilon, 0,
                                          c[1].dtype());
    },
    .batch = [](const call& c) -> arrays {
      const array x = with_batch_axis(c, 0), ct = with_batch_axis(c, 2);
      const array scale = detail::spread_parameter(c[1], x.shape(), c.batched(1));
      return detail::layer_norm_gradients(x, scale, ct, c.attrs<norm_attributes>().epsilon, 1, c[1].dtype());
    },
    .kernels = kernels_of<layer_norm_vjp_p>,
};

inline constexpr op layer_norm_p{
    .name = "layer_norm",
    .stablehlo = "tokamax.layer_norm",
    .precision = {.kernels_in_f32 = true},
    .attributes = schema<norm_attributes>,
    .infer = [](const call& c) -> array_type {
      if (!is_floating(c[0].dtype()) || c[0].rank() == 0)
        return c.fail("layer_norm: x", c[0].type(), "floats with an axis");
      array_type parameter{c[1].dtype(), false, {c[0].extent(-1)}};
      if (!(c[1].type() == parameter)) return c.fail("layer_norm: scale", c[1].type(), parameter);
      if (!(c[2].type() == parameter)) return c.fail("layer_norm: offset", c[2].type(), parameter);
      return c[0].type();
    },
    .compose = [](const call& c) -> arrays {
      const array x_hat = detail::standardize(c[0], c.attrs<norm_attributes>().epsilon).x_hat;
      return astype(x_hat * detail::carried(c[1]) + detail::carried(c[2]), c[0].dtype());
    },
    .vjp = [](const call& c) -> arrays { return layer_norm_vjp(c[0], c[1], c.ct(), c.attrs<norm_attributes>(), {}); },
    .batch = [](const call& c) -> arrays {
      const auto options = c.attrs<norm_attributes>();
      const array x = with_batch_axis(c, 0);
      if (!c.batched(1) && !c.batched(2)) return bind(*c.self, {x, c[1], c[2]}, options, c.where);
      // Each example has its own scale and offset. The row op normalises without them, and they are applied afterwards.
      const shape feature{c[0].extent(-1)};
      const array x_hat =
          bind(*c.self, {x, ones(feature, c[1].dtype()), zeros(feature, c[2].dtype())}, options, c.where);
      const array scale = detail::spread_parameter(c[1], x.shape(), c.batched(1));
      return astype(x_hat * scale + detail::spread_parameter(c[2], x.shape(), c.batched(2)), x.dtype());
    },
    .kernels = kernels_of<layer_norm_p>,
};

/// Normalises an axis of `x` to zero mean and unit variance, then applies an affine map.
///
///   y = (x - mean(x)) / sqrt(var(x) + epsilon) * (scale + scale_offset) + offset
///
/// Without options.subtract_mean the means are taken as 0.
///
/// shapes  x [..., C, ...] with C on options.axis, scale [C] or none for 1, offset [C] or none for 0 -> that of x
/// dtypes  any float, computed in f32, f64 in f64; the result has the dtype of x
/// errors  "layer_norm: scale", "layer_norm: offset" if one is not [C] or their dtypes differ; "layer_norm: axis"
/// source  Ba, Kiros, Hinton 2016, arXiv:1607.06450, eq. 3-4; epsilon as in flax.nnx.LayerNorm; options as tokamax.layer_norm
/// see     rms_norm, nn::layer_norm
constexpr array layer_norm(const array& x, const array& scale = {}, const array& offset = {},
                           const layer_norm_options& options = {}, source_line l = source_line::current()) {
  const int axis = x.rank() == 0 ? 0 : checked_axis("layer_norm: axis", options.axis, x, l);
  const array rows = detail::norm_axis_last(x, axis, l);
  array factor = scale, summand = offset;
  if (x.rank() > 0) {
    factor = detail::norm_parameter(scale, offset, rows, 1, options.scale_offset);
    summand = detail::norm_parameter(offset, factor, rows, 0, 0);
    if (scale.exists() && factor.dtype() != scale.dtype()) summand = astype(summand, factor.dtype(), l);
  }
  if (x.rank() > 0 && offset.exists() && offset.shape() != shape{rows.extent(-1)}) {
    reject(x, l, "layer_norm: offset", offset.type(), message() << shape{rows.extent(-1)});
    return x;
  }
  if (options.subtract_mean && options.implementation.empty() && detail::normalises_across(x, axis, factor, summand))
    return detail::layer_norm_across(x, axis, factor, summand, options.epsilon, l);
  const use_implementation named(options.subtract_mean ? "layer_norm" : "rms_norm", options.implementation, rows,
                                 factor);
  array y;
  if (options.subtract_mean) {
    y = bind(described<layer_norm_p>(), {rows, factor, summand}, norm_attributes{options.epsilon}, l);
  } else if (!offset.exists()) {
    y = bind(described<rms_norm_p>(), {rows, factor}, norm_attributes{options.epsilon}, l);
  } else {
    const array scaled =
        bind(described<rms_norm_p>(), {detail::carried(rows), factor}, norm_attributes{options.epsilon}, l);
    y = astype(scaled + detail::carried(summand), x.dtype(), l);
  }
  return detail::norm_axis_last(y, axis, l);
}

/// layer_norm, and the mean and the reciprocal standard deviation of x along the axis.
///
/// shapes, errors  those of layer_norm; mean and rstd have the extents of x without the axis
constexpr layer_norm_result layer_norm_with_residuals(const array& x, const array& scale = {}, const array& offset = {},
                                                      const layer_norm_options& options = {},
                                                      source_line l = source_line::current()) {
  const array out = layer_norm(x, scale, offset, options, l);
  if (x.rank() == 0) return {out, out, out};
  const array v = detail::carried(x);
  const axes axis{options.axis};
  if (options.subtract_mean) {
    const array centred = detail::less_mean(v, {axis, true}, l);
    return {out, mean(v, {axis}, l), rsqrt(mean(centred * centred, {axis}, l) + options.epsilon)};
  }
  const array rstd = rsqrt(mean(v * v, {axis}, l) + options.epsilon);
  return {out, zeros_like(rstd), rstd};
}

/// The cotangents {dx, dscale, doffset} of layer_norm(x, scale, offset) for the cotangent `ct` of its result.
///
/// shapes  x and ct [..., C], scale [C] -> [..., C], [C], [C]
constexpr arrays layer_norm_vjp(const array& x, const array& scale, const array& ct, norm_attributes options,
                                source_line l) {
  const array in[] = {x, scale, ct};
  return bind_all(described<layer_norm_vjp_p>(), in, 3, pack(options), l);
}

}  // namespace tokamax
