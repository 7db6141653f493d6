// tokamax/ops/softmax.hpp: softmax, log_softmax and logsumexp, stable for large values.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/reduce.hpp>            // sum, exp, log, select
#include <tokamax/lax/shapes/transpose.hpp>  // swapaxes
#include <tokamax/lax/stop_gradient.hpp>     // the maximum is a constant shift

#include <limits>  // infinity

namespace tokamax {

constexpr array softmax(const array& x, int axis = -1, source_line l = source_line::current());
constexpr array softmax_vjp(const array& y, const array& ct, source_line l = source_line::current());

namespace detail {
/// Row ops work on the last axis of their operands. The functions below swap any other axis with it.
constexpr array_type row_infer(const call& c) {
  if (!is_floating(c[0].dtype()) || c[0].rank() == 0)
    return c.fail(message(c.self->name) << ": x", c[0].type(), "floats with an axis");
  return c[0].type();
}
}  // namespace detail

/// The gradient of softmax over the last axis, from its result.
inline constexpr op softmax_vjp_p{
    .name = "softmax_vjp",
    .precision = {.kernels_in_f32 = true},
    .infer = [](const call& c) -> array_type {
      if (c[1].shape() != c[0].shape())
        return c.fail("softmax_vjp: ct", c[1].type(), message("extents of ") << c[0].type());
      return detail::row_infer(c);
    },
    // dx = y * (ct - sum(ct * y))
    .compose = [](const call& c) -> arrays {
      const array y = detail::carried(c[0]), ct = detail::carried(c[1]);
      return astype(y * (ct - sum(ct * y, {{-1}, true})), c[0].dtype());
    },
    .batch = [](const call& c) -> arrays {
      const array y = with_batch_axis(c, 0), ct = with_batch_axis(c, 1);
      return softmax_vjp(y, ct);
    },
    .kernels = kernels_of<softmax_vjp_p>,
};

/// Softmax over the last axis.
inline constexpr op softmax_p{
    .name = "softmax",
    .stablehlo = "tokamax.softmax",
    .precision = {.kernels_in_f32 = true},
    .infer = detail::row_infer,
    .compose = [](const call& c) -> arrays {
      const array x = detail::carried(c[0]),
                  e = exp(x - stop_gradient(detail::reduce(described<reduce_max_p>(), x, {{-1}, true}, {})));
      return astype(e / sum(e, {{-1}, true}), c[0].dtype());
    },
    .vjp = [](const call& c) -> arrays { return softmax_vjp(c.out(), c.ct()); },
    .batch = [](const call& c) -> arrays { return softmax(c[0]); },
    .kernels = kernels_of<softmax_p>,
};

/// Exponentials along one axis, divided by their sum.
///
///   y_i = exp(x_i - max(x)) / sum_j exp(x_j - max(x))
///
/// shapes  x [...] -> the same
/// dtypes  any float, computed in f32 (JAX computes bf16 in bf16), f64 in f64
/// errors  "softmax: x" for integers and scalars, "swapaxes: axis" for an axis that x does not have
/// source  jax.nn.softmax; a row of -inf gives NaN there and here
constexpr array softmax(const array& x, int axis, source_line l) {
  if (axis == -1 || axis == x.rank() - 1) return bind(described<softmax_p>(), {x}, words{}, l);
  return swapaxes(bind(described<softmax_p>(), {swapaxes(x, axis, -1, l)}, words{}, l), axis, -1, l);
}

/// The cotangent of x for the cotangent `ct` of y = softmax(x), both over the last axis.
/// shapes  y, ct [..., C] -> [..., C]
constexpr array softmax_vjp(const array& y, const array& ct, source_line l) {
  return bind(described<softmax_vjp_p>(), {y, ct}, words{}, l);
}

/// The logarithm of softmax, without forming the quotient.
///
///   y = s - log(sum(exp(s)))  with s = x - max(x)
///
/// shapes  x [...] -> the same
/// dtypes  any float, computed in f32 or f64 and rounded once; integers become f32
/// source  jax.nn.log_softmax
constexpr array log_softmax(const array& x, int axis = -1, source_line l = source_line::current()) {
  return detail::rounded_once(detail::in_floats(x), [&](const array& v) {
    const array s = v - located(stop_gradient(detail::reduce(described<reduce_max_p>(), v, {{axis}, true}, l), l), l);
    return s - located(log(sum(exp(s, l), {{axis}, true}, l), l), l);
  });
}

/// log(sum(exp(x))) without overflow. It is -inf if all elements are -inf, and inf if one of them is. Elements of -inf have
/// the gradient 0, also where all of them are, for which JAX has NaN.
///
/// shapes  x [...] -> x without `axis` (all axes, if none is given)
/// dtypes  any float, computed in f32 or f64 and rounded once; integers become f32
/// source  jax.nn.logsumexp
template <class = void>
constexpr array logsumexp(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  const array y = detail::rounded_once(detail::in_floats(x), [&](const array& v) {
    const array top = stop_gradient(detail::reduce(described<reduce_max_p>(), v, {o.axis, true}, l), l);
    const array shift = select(isfinite(top, l), top, zeros_like(top), l);
    const array total = sum(exp(v - shift, l), {o.axis, true}, l);  // 1 or more, or 0 if all elements are -inf
    return log(maximum(total, 0.5, l), l) + top;
  });
  if (o.keepdims) return y;
  shape s;
  const axes reduced = detail::normalized(o.axis, x.rank());
  for (int i = 0; i < x.rank(); ++i)
    if (!reduced.contains(i)) s.push_back(x.extent(i));
  return reshape(y, s, l);
}
constexpr array logsumexp(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return logsumexp(x, {.axis = axis}, l);
}
/// The same over the elements at which `mask` holds; -inf where it holds nowhere.
/// errors  "logsumexp: mask" that is not made of booleans
/// source  jax.nn.logsumexp with where
template <std::derived_from<array> Mask>
constexpr array logsumexp(const array& x, const Mask& mask, reduce_options o = {},
                          source_line l = source_line::current()) {
  if (mask.dtype() != bool_) {
    const array both[] = {mask, x};
    reject(both, 2, l, "logsumexp: mask", mask.type(), "booleans");
    return x;
  }
  return logsumexp(select(mask, x, array(-std::numeric_limits<double>::infinity()), l), o, l);
}

}  // namespace tokamax
