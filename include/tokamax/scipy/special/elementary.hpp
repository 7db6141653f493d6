// tokamax/scipy/special/elementary.hpp: logarithms of probabilities and entropies: expit, logit, xlogy, entr, kl_div and others.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/scipy/special/special_op.hpp>  // special

namespace tokamax {

namespace detail {
constexpr array xlogy_value(const arrays& v) {
  const array zero = logical_and(v[0] == 0.0, v[1] == v[1]);
  return where(zero, zeros_like(v[0]), v[0] * log(where(zero, ones_like(v[1]), v[1])));
}
/// 0 where x is 0 and the logarithm is not finite: a slope of infinity would become NaN beside a cotangent of 0.
constexpr array slope_by_factor(const array& x, const array& log_y) {
  return where(logical_and(x == 0.0, log_y <= -std::numeric_limits<double>::max()), zeros_like(x), log_y);
}
/// x / y, and 0 where x is 0 and y is any number.
constexpr array slope_by_argument(const array& x, const array& y) {
  const array zero = logical_and(x == 0.0, y == y);
  return where(zero, zeros_like(x), x / where(zero, ones_like(y), y));
}
constexpr array xlogy_slope_by_x(const arrays& v, const array&) { return slope_by_factor(v[0], log(v[1])); }
constexpr array xlogy_slope_by_y(const arrays& v, const array&) { return slope_by_argument(v[0], v[1]); }
constexpr array xlog1py_value(const arrays& v) {
  const array zero = logical_and(v[0] == 0.0, v[1] == v[1]);
  return where(zero, zeros_like(v[0]), v[0] * log1p(where(zero, zeros_like(v[1]), v[1])));
}
constexpr array xlog1py_slope_by_x(const arrays& v, const array&) { return slope_by_factor(v[0], log1p(v[1])); }
constexpr array xlog1py_slope_by_y(const arrays& v, const array&) { return slope_by_argument(v[0], 1.0 + v[1]); }
}  // namespace detail

inline constexpr op xlogy_p =
    detail::special({.name = "xlogy",
                     .compose = detail::special_compose<detail::xlogy_value>,
                     .vjp = detail::special_vjp<detail::xlogy_slope_by_x, detail::xlogy_slope_by_y>});
inline constexpr op xlog1py_p =
    detail::special({.name = "xlog1py",
                     .compose = detail::special_compose<detail::xlog1py_value>,
                     .vjp = detail::special_vjp<detail::xlog1py_slope_by_x, detail::xlog1py_slope_by_y>});

}  // namespace tokamax

namespace tokamax::scipy::special {

/// x log(y), and 0 where x is 0 and y is any number. There the derivative by y is 0, and that by x is 0 if y is 0, where
/// JAX has NaN.
///
/// shapes  broadcast together
/// source  jax.scipy.special.xlogy
constexpr array xlogy(const array& x, const array& y, source_line l = source_line::current()) {
  return tokamax::detail::special_binary(described<xlogy_p>(), x, y, l);
}
/// x log(1 + y), and 0 where x is 0. Its derivatives there are those of xlogy.
/// source  jax.scipy.special.xlog1py
constexpr array xlog1py(const array& x, const array& y, source_line l = source_line::current()) {
  return tokamax::detail::special_binary(described<xlog1py_p>(), x, y, l);
}
/// 1 / (1 + e^-x)
/// source  jax.scipy.special.expit
constexpr array expit(const array& x, source_line l = source_line::current()) { return logistic(x, l); }
/// log(p / (1 - p)): infinite at 0 and 1, NaN outside.
/// source  jax.scipy.special.logit
constexpr array logit(const array& p, source_line l = source_line::current()) {
  return tokamax::detail::rounded_once(tokamax::detail::in_floats(p),
                                       [&](const array& x) { return tokamax::log(x, l) - tokamax::log1p(-x, l); });
}
/// -x log(x); 0 at 0, and minus infinity below.
/// source  jax.scipy.special.entr
constexpr array entr(const array& x, source_line l = source_line::current()) {
  const array v = tokamax::detail::in_floats(x), below = v < 0.0;
  const array safe = where(below, ones_like(v), v);
  return where(below, -tokamax::detail::infinity_like(v), -xlogy(safe, safe, l));
}
/// x log(x / y) where both are positive, 0 where x is 0 and y is not negative, and infinite elsewhere.
///
/// shapes  broadcast together
/// source  jax.scipy.special.rel_entr
constexpr array rel_entr(const array& x, const array& y, source_line l = source_line::current()) {
  array v[2] = {x, y};
  tokamax::detail::unify_in_floats(described<xlogy_p>(), v, l);
  const dtype type = v[0].dtype();
  for (array& a : v) a = tokamax::detail::carried(a);
  const array positive = logical_and(v[0] > 0.0, v[1] > 0.0), zero = logical_and(v[0] == 0.0, v[1] >= 0.0);
  const array p = where(positive, v[0], ones_like(v[0])), q = where(positive, v[1], ones_like(v[1]));
  const array value = where(positive, p * (tokamax::log(p) - tokamax::log(q)),
                            where(zero, zeros_like(p), tokamax::detail::infinity_like(p)));
  return astype(where(logical_or(v[0] != v[0], v[1] != v[1]), v[0] + v[1], value), type);
}
/// rel_entr(x, y) - x + y
/// source  jax.scipy.special.kl_div
constexpr array kl_div(const array& x, const array& y, source_line l = source_line::current()) {
  array v[2] = {x, y};
  tokamax::detail::unify_in_floats(described<xlogy_p>(), v, l);
  return tokamax::detail::rounded_once(v[0], v[1],
                                       [&](const array& a, const array& b) { return rel_entr(a, b, l) - a + b; });
}
/// (x^lambda - 1) / lambda, and log(x) where lambda is 0.
/// source  jax.scipy.special.boxcox
constexpr array boxcox(const array& x, const array& lambda, source_line l = source_line::current()) {
  const array log_x = tokamax::log(x, l), zero = lambda == 0.0, safe = where(zero, ones_like(lambda), lambda);
  return where(zero, log_x, expm1(safe * log_x) / safe);
}
/// boxcox(1 + x, lambda), accurate near 0.
/// source  jax.scipy.special.boxcox1p
constexpr array boxcox1p(const array& x, const array& lambda, source_line l = source_line::current()) {
  const array log_x = tokamax::log1p(x, l), zero = lambda == 0.0, safe = where(zero, ones_like(lambda), lambda);
  return where(zero, log_x, expm1(safe * log_x) / safe);
}

}  // namespace tokamax::scipy::special
