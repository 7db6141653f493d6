// tokamax/transforms/cumulative.hpp: running products, extremes and sums of logarithms: cumprod, cummax, cummin, cumlogsumexp.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (cumsum is an op; who combines otherwise includes it)
#pragma once

#include <tokamax/lax/elementwise/logaddexp.hpp>    // logaddexp
#include <tokamax/transforms/associative_scan.hpp>  // associative_scan

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

}  // namespace tokamax
