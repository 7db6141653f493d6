// tokamax/ops/rms_norm.hpp: scale the last axis to a root mean square of one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/ops/layer_norm.hpp>  // over_last, sum_rows

namespace tokamax {

/// How rms_norm is asked to behave: `rms_norm(x, scale, {.epsilon = 1e-5})`.
struct rms_norm_options {
  double epsilon = 1e-6;  ///< added to the mean square before the root
};

constexpr array rms_norm(const array& x, const array& scale, rms_norm_options options = {},
                         source_line l = source_line::current());
constexpr arrays rms_norm_vjp(const array& x, const array& scale, const array& ct, rms_norm_options options = {},
                              source_line l = source_line::current());

namespace detail {
constexpr array reciprocal_rms(const array& x, double epsilon) {
  return rsqrt(mean(x * x, over_last) + epsilon);
}  // [..., 1]
/// dx = r * (g - x_hat * mean(g * x_hat)) with r = 1 / rms(x), x_hat = x * r, g = ct * scale. The gradient of the scale
/// keeps the first `kept` axes.
constexpr arrays rms_norm_gradients(const array& x, const array& scale, const array& upstream, double epsilon, int kept,
                                    dtype parameter) {
  const array v = carried(x), ct = carried(upstream), g = ct * scale;
  const array r = reciprocal_rms(v, epsilon), x_hat = v * r;
  const array dx = r * (g - x_hat * mean(g * x_hat, over_last));
  return {astype(dx, x.dtype()), astype(sum_rows(ct * x_hat, kept), parameter)};
}
}  // namespace detail

/// The gradients of rms_norm as one op, so that a backend can make one pass over the rows.
inline constexpr op rms_norm_vjp_p{
    .name = "rms_norm_vjp",
    .precision = {.kernels_in_f32 = true},
    .attributes = schema<rms_norm_options>,
    .infer_all = [](const call& c) -> types {
      if (!is_floating(c[0].dtype()) || c[0].rank() == 0)
        c.fail("rms_norm_vjp: x", c[0].type(), "floats with an axis");
      else if (detail::extents_are(c, 1, 1, {c[0].extent(-1)}))
        detail::extents_are(c, 2, 2, c[0].shape());
      return {c[0].type(), c[1].type()};
    },
    .compose = [](const call& c) -> arrays {
      return detail::rms_norm_gradients(c[0], detail::carried(c[1]), c[2], c.attrs<rms_norm_options>().epsilon, 0,
                                        c[1].dtype());
    },
    .batch = [](const call& c) -> arrays {
      const array x = with_batch_axis(c, 0), ct = with_batch_axis(c, 2);
      const array scale = detail::spread_parameter(c[1], x.shape(), c.batched(1));
      return detail::rms_norm_gradients(x, scale, ct, c.attrs<rms_norm_options>().epsilon, 1, c[1].dtype());
    },
    .kernels = kernels_of<rms_norm_vjp_p>,
};

inline constexpr op rms_norm_p{
    .name = "rms_norm",
    .stablehlo = "tokamax.rms_norm",
    .precision = {.kernels_in_f32 = true},
    .attributes = schema<rms_norm_options>,
    .infer = [](const call& c) -> array_type {
      if (!is_floating(c[0].dtype()) || c[0].rank() == 0)
        return c.fail("rms_norm: x", c[0].type(), "floats with an axis");
      array_type parameter{c[1].dtype(), false, {c[0].extent(-1)}};
      if (!(c[1].type() == parameter)) return c.fail("rms_norm: scale", c[1].type(), parameter);
      return c[0].type();
    },
    .compose = [](const call& c) -> arrays {
      const array x = detail::carried(c[0]);
      return astype(x * detail::reciprocal_rms(x, c.attrs<rms_norm_options>().epsilon) * detail::carried(c[1]),
                    c[0].dtype());
    },
    .vjp = [](const call& c) -> arrays { return rms_norm_vjp(c[0], c[1], c.ct(), c.attrs<rms_norm_options>(), {}); },
    .batch = [](const call& c) -> arrays {
      const auto options = c.attrs<rms_norm_options>();
      const array x = with_batch_axis(c, 0);
      if (!c.batched(1)) return rms_norm(x, c[1], options);
      const array x_hat = rms_norm(x, ones({c[0].extent(-1)}, c[1].dtype()), options);
      return astype(x_hat * detail::spread_parameter(c[1], x.shape(), true), x.dtype());
    },
    .kernels = kernels_of<rms_norm_p>,
};

/// Divides the last axis of `x` by its root mean square, then scales it.
///
///   y = x / sqrt(mean(x^2) + epsilon) * scale
///
/// shapes  x [..., C], scale [C] -> [..., C]
/// dtypes  any float, computed in f32, f64 in f64; the result has the dtype of x
/// errors  "rms_norm: scale" if it is not [C]
/// source  Zhang, Sennrich 2019, arXiv:1910.07467, eq. 4; epsilon as in flax.nnx.RMSNorm
/// see     layer_norm, nn::rms_norm
constexpr array rms_norm(const array& x, const array& scale, rms_norm_options options, source_line l) {
  return bind(rms_norm_p, {x, scale}, options, l);
}

/// The cotangents {dx, dscale} of rms_norm(x, scale) for the cotangent `ct` of its result.
///
/// shapes  x and ct [..., C], scale [C] -> [..., C], [C]
constexpr arrays rms_norm_vjp(const array& x, const array& scale, const array& ct, rms_norm_options options,
                              source_line l) {
  const array in[] = {x, scale, ct};
  return bind_all(rms_norm_vjp_p, in, 3, pack(options), l);
}

}  // namespace tokamax
