// tokamax/transforms/cumulative.hpp: running products, extremes and sums of logarithms: cumprod, cummax, cummin, cumlogsumexp.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (cumsum is an op; who combines otherwise includes it)
#pragma once

#include <tokamax/lax/elementwise/logaddexp.hpp>     // logaddexp
#include <tokamax/numpy/elementwise/predicates.hpp>  // isnan
#include <tokamax/transforms/associative_scan.hpp>   // associative_scan

namespace tokamax {

namespace detail {
template <class F>
constexpr array cumulate(const char* what, const array& x, int axis, bool reverse, const F& f, source_line l) {
  axis = checked_axis(what, axis, x, l);
  if (x.rank() == 0) return x;
  return associative_scan(f, x, {.reverse = reverse, .axis = axis}, l);
}
}  // namespace detail

/// Element i of the result combines the elements up to and including i along `axis` (from i on, if reversed): their product,
/// the largest, the least, or the logarithm of the sum of their exponentials. Each takes 2 log2(n) steps on whole slices.
///
/// shapes  any -> the same
/// dtypes  numbers; floats for cumlogsumexp
/// errors  "cumprod: axis", "cummax: axis", "cummin: axis", "cumlogsumexp: axis"
/// source  jax.lax.cumprod, cummax, cummin, cumlogsumexp
constexpr array cumprod(const array& x, int axis = -1, bool reverse = false, source_line l = source_line::current()) {
  return detail::cumulate("cumprod: axis", x, axis, reverse, [](const array& a, const array& b) { return a * b; }, l);
}
constexpr array cummax(const array& x, int axis = -1, bool reverse = false, source_line l = source_line::current()) {
  return detail::cumulate(
      "cummax: axis", x, axis, reverse, [](const array& a, const array& b) { return maximum(a, b); }, l);
}
constexpr array cummin(const array& x, int axis = -1, bool reverse = false, source_line l = source_line::current()) {
  return detail::cumulate(
      "cummin: axis", x, axis, reverse, [](const array& a, const array& b) { return minimum(a, b); }, l);
}
constexpr array cumlogsumexp(const array& x, int axis = -1, bool reverse = false,
                             source_line l = source_line::current()) {
  return detail::cumulate(
      "cumlogsumexp: axis", x, axis, reverse, [](const array& a, const array& b) { return logaddexp(a, b); }, l);
}

/// The running product along `axis`; with `include_initial` a 1 comes first.
///
/// errors  "cumprod: axis"
/// source  jax.numpy.cumulative_prod
constexpr array cumulative_prod(const array& x, int axis = -1, bool include_initial = false,
                                source_line l = source_line::current()) {
  const array y = cumprod(x, axis, false, l);
  if (!include_initial || x.rank() == 0) return y;
  shape s = y.shape();
  s[axis] = 1;
  return concatenate({ones(s, y.dtype()), y}, axis, l);
}
/// The running product in which NaN counts as 1.
/// errors  "cumprod: axis"
/// source  jax.numpy.nancumprod
constexpr array nancumprod(const array& x, int axis = -1, source_line l = source_line::current()) {
  return cumprod(select(isnan(x, l), ones_like(x), x, l), axis, false, l);
}

}  // namespace tokamax
