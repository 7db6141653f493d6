// tokamax/ops/rms_norm.hpp: scale an axis to a root mean square of one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/scope/use_implementation.hpp>  // implementation_names
#include <tokamax/lax/shapes/transpose.hpp>           // swapaxes
#include <tokamax/numpy/statistics.hpp>               // mean

namespace tokamax {

/// How rms_norm is asked to behave: `rms_norm(x, scale, {.epsilon = 1e-5})`.
struct rms_norm_options {
  double epsilon = 1e-6;                     ///< added to the mean square before the root
  int axis = -1;                             ///< the normalised axis
  double scale_offset = 0;                   ///< added to the scale, so that a scale of zeros can stand for 1
  implementation_names implementation = {};  ///< kernel or compose, see use_implementation
};

/// Attributes of rms_norm and layer_norm, which normalise the last axis.
struct norm_attributes {
  double epsilon = 1e-6;
};

constexpr array rms_norm(const array& x, const array& scale = {}, const rms_norm_options& options = {},
                         source_line l = source_line::current());
constexpr arrays rms_norm_vjp(const array& x, const array& scale, const array& ct, norm_attributes options = {},
                              source_line l = source_line::current());

namespace detail {
inline constexpr reduce_options over_last{.axis = {-1}, .keepdims = true};

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
    .attributes = schema<norm_attributes>,
    .infer_all = [](const call& c) -> types {
      if (!is_floating(c[0].dtype()) || c[0].rank() == 0)
        c.fail("rms_norm_vjp: x", c[0].type(), "floats with an axis");
      else if (detail::extents_are(c, 1, 1, {c[0].extent(-1)}))
        detail::extents_are(c, 2, 2, c[0].shape());
      return {c[0].type(), c[1].type()};
    },
    .compose = [](const call& c) -> arrays {
      return detail::rms_norm_gradients(c[0], detail::carried(c[1]), c[2], c.attrs<norm_attributes>().epsilon, 0,
                                        c[1].dtype());
    },
    .batch = [](const call& c) -> arrays {
      const array x = with_batch_axis(c, 0), ct = with_batch_axis(c, 2);
      const array scale = detail::spread_parameter(c[1], x.shape(), c.batched(1));
      return detail::rms_norm_gradients(x, scale, ct, c.attrs<norm_attributes>().epsilon, 1, c[1].dtype());
    },
    .kernels = kernels_of<rms_norm_vjp_p>,
};

inline constexpr op rms_norm_p{
    .name = "rms_norm",
    .stablehlo = "tokamax.rms_norm",
    .precision = {.kernels_in_f32 = true},
    .attributes = schema<norm_attributes>,
    .infer = [](const call& c) -> array_type {
      if (!is_floating(c[0].dtype()) || c[0].rank() == 0)
        return c.fail("rms_norm: x", c[0].type(), "floats with an axis");
      array_type parameter{c[1].dtype(), false, {c[0].extent(-1)}};
      if (!(c[1].type() == parameter)) return c.fail("rms_norm: scale", c[1].type(), parameter);
      return c[0].type();
    },
    .compose = [](const call& c) -> arrays {
      const array x = detail::carried(c[0]);
      return astype(x * detail::reciprocal_rms(x, c.attrs<norm_attributes>().epsilon) * detail::carried(c[1]),
                    c[0].dtype());
    },
    .vjp = [](const call& c) -> arrays { return rms_norm_vjp(c[0], c[1], c.ct(), c.attrs<norm_attributes>(), {}); },
    .batch = [](const call& c) -> arrays {
      const auto options = c.attrs<norm_attributes>();
      const array x = with_batch_axis(c, 0);
      if (!c.batched(1)) return bind(*c.self, {x, c[1]}, options, c.where);
      const array x_hat = bind(*c.self, {x, ones({c[0].extent(-1)}, c[1].dtype())}, options, c.where);
      return astype(x_hat * detail::spread_parameter(c[1], x.shape(), true), x.dtype());
    },
    .kernels = kernels_of<rms_norm_p>,
};

namespace detail {
/// A scale or offset of x: 1 or 0 if it does not exist, with `more` added.
constexpr array norm_parameter(const array& p, const array& other, const array& x, double missing, double more) {
  if (!p.exists()) return full({x.extent(-1)}, missing, other.exists() ? other.dtype() : carrying(x.dtype()));
  return more == 0 ? p : carried(p) + more;
}
/// `x` with `axis` as its last axis, and back again.
constexpr array norm_axis_last(const array& x, int axis, source_line l) {
  return axis == x.rank() - 1 || x.rank() == 0 ? x : swapaxes(x, axis, -1, l);
}
}  // namespace detail

/// Divides an axis of `x` by its root mean square, then scales it.
///
///   y = x / sqrt(mean(x^2) + epsilon) * (scale + scale_offset)
///
/// shapes  x [..., C, ...] with C on options.axis, scale [C], or none for 1 -> that of x
/// dtypes  any float, computed in f32, f64 in f64; the result has the dtype of x
/// errors  "rms_norm: scale" if it is not [C], "rms_norm: axis"
/// source  Zhang, Sennrich 2019, arXiv:1910.07467, eq. 4; epsilon as in flax.nnx.RMSNorm
/// see     layer_norm, nn::rms_norm
constexpr array rms_norm(const array& x, const array& scale, const rms_norm_options& options, source_line l) {
  const int axis = x.rank() == 0 ? 0 : checked_axis("rms_norm: axis", options.axis, x, l);
  const array rows = detail::norm_axis_last(x, axis, l);
  array factor = scale;
  if (x.rank() > 0) factor = detail::norm_parameter(scale, {}, rows, 1, options.scale_offset);
  const use_implementation named("rms_norm", options.implementation, rows, factor);
  return detail::norm_axis_last(bind(described<rms_norm_p>(), {rows, factor}, norm_attributes{options.epsilon}, l),
                                axis, l);
}

/// The cotangents {dx, dscale} of rms_norm(x, scale) for the cotangent `ct` of its result.
///
/// shapes  x and ct [..., C], scale [C] -> [..., C], [C]
constexpr arrays rms_norm_vjp(const array& x, const array& scale, const array& ct, norm_attributes options,
                              source_line l) {
  const array in[] = {x, scale, ct};
  return bind_all(described<rms_norm_vjp_p>(), in, 3, pack(options), l);
}

}  // namespace tokamax
