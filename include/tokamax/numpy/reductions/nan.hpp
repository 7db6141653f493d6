// tokamax/numpy/reductions/nan.hpp: reductions that leave out NaN: nansum, nanmean, nanmax, nanvar and the like.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (data with gaps needs it)
// tested by tests/numpy/reductions.cpp
#pragma once

#include <tokamax/numpy/elementwise/predicates.hpp>  // isnan
#include <tokamax/numpy/reductions/products.hpp>     // prod, moment_options

namespace tokamax {

namespace detail {
/// x with v in place of NaN; integers as they are.
constexpr array without_nan(const array& x, double v, source_line l) {
  if (!is_floating(x.dtype())) return x;
  return select(isnan(x, l), number_like(x, v), x, l);
}
/// How many elements are not NaN, in the dtype of the mean.
constexpr array count_of_numbers(const array& x, const reduce_options& o, dtype type) {
  return astype(sum(logical_not(isnan(x)), o), type);
}
}  // namespace detail

/// Sum and product in which NaN counts as 0 and as 1.
///
/// shapes  x [...] -> x without `axis` (extent 1 with .keepdims)
/// errors  those of sum and prod
/// source  jax.numpy.nansum, nanprod
template <class = void>
constexpr array nansum(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return sum(detail::without_nan(x, 0, l), o, l);
}
constexpr array nansum(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return nansum(x, {.axis = axis}, l);
}
template <class = void>
constexpr array nanprod(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  return prod(detail::without_nan(x, 1, l), o, l);
}
constexpr array nanprod(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return nanprod(x, {.axis = axis}, l);
}
/// The largest (smallest) number; NaN where all are.
/// errors  those of max and min
/// source  jax.numpy.nanmax, nanmin
template <class = void>
constexpr array nanmax(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  const array y = max(detail::without_nan(x, -detail::infinity, l), o, l);
  if (!is_floating(x.dtype())) return y;
  return select(all(isnan(x), o), detail::number_like(y, detail::not_a_number), y);
}
constexpr array nanmax(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return nanmax(x, {.axis = axis}, l);
}
template <class = void>
constexpr array nanmin(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  const array y = min(detail::without_nan(x, detail::infinity, l), o, l);
  if (!is_floating(x.dtype())) return y;
  return select(all(isnan(x), o), detail::number_like(y, detail::not_a_number), y);
}
constexpr array nanmin(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return nanmin(x, {.axis = axis}, l);
}
/// Mean of the numbers that are not NaN.
/// source  jax.numpy.nanmean
template <class = void>
constexpr array nanmean(const array& x, reduce_options o = {}, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) return mean(x, o, l);
  const dtype wide = carrying(x.dtype());
  return astype(nansum(astype(x, wide, l), o, l) / detail::count_of_numbers(x, o, wide), x.dtype());
}
constexpr array nanmean(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return nanmean(x, {.axis = axis}, l);
}
namespace detail {
constexpr array nanvar_of_wide(const array& y, const moment_options& o, source_line l) {
  const dtype wide = y.dtype();
  const array m = nansum(y, {o.axis, true}, l) / count_of_numbers(y, {o.axis, true}, wide);
  const array centred = select(isnan(y), zeros_like(y), y - m);
  const array n = count_of_numbers(y, {o.axis, o.keepdims}, wide) - number_like(y, o.ddof);
  const array v = sum(centred * centred, {o.axis, o.keepdims}) / n;
  return select(n <= 0.0, number_like(v, not_a_number), v);
}
}  // namespace detail
/// Variance of the numbers that are not NaN, and its root; NaN where there are no more than ddof.
/// source  jax.numpy.nanvar, nanstd
template <class = void>
constexpr array nanvar(const array& x, const moment_options& o = {}, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) return var(x, o, l);
  return detail::rounded_once(x, [&](const array& y) { return detail::nanvar_of_wide(y, o, l); });
}
constexpr array nanvar(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return nanvar(x, {.axis = axis}, l);
}
template <class = void>
constexpr array nanstd(const array& x, const moment_options& o = {}, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) return std_(x, o, l);
  return detail::rounded_once(x, [&](const array& y) { return sqrt(detail::nanvar_of_wide(y, o, l), l); });
}
constexpr array nanstd(const array& x, const some_axes& axis, source_line l = source_line::current()) {
  return nanstd(x, {.axis = axis}, l);
}
/// Index of the first largest (smallest) number that is not NaN along one axis; -1 where all are NaN.
///
/// dtypes  any -> i32
/// errors  those of argmax and argmin
/// source  jax.numpy.nanargmax, nanargmin
constexpr array nanargmax(const array& x, int axis = -1, source_line l = source_line::current()) {
  const array y = argmax(detail::without_nan(x, -detail::infinity, l), axis, l);
  if (!is_floating(x.dtype())) return y;
  return select(all(isnan(x), {{axis}}), detail::number_like(y, -1), y);
}
constexpr array nanargmin(const array& x, int axis = -1, source_line l = source_line::current()) {
  const array y = argmin(detail::without_nan(x, detail::infinity, l), axis, l);
  if (!is_floating(x.dtype())) return y;
  return select(all(isnan(x), {{axis}}), detail::number_like(y, -1), y);
}

}  // namespace tokamax
