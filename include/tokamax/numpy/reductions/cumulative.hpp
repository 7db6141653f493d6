// tokamax/numpy/reductions/cumulative.hpp: running products and differences: cumulative_sum, nancumsum, diff, ediff1d.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/reductions.cpp
#pragma once

#include <tokamax/lax/cumulative.hpp>                // cumsum
#include <tokamax/lax/shapes/concatenate.hpp>        // concatenate
#include <tokamax/numpy/elementwise/predicates.hpp>  // isnan
#include <tokamax/numpy/manipulation/axes.hpp>       // ravel

namespace tokamax {

/// The running sum along `axis`; with `include_initial` a 0 comes first.
///
/// errors  "cumsum: axis"
/// source  jax.numpy.cumulative_sum
constexpr array cumulative_sum(const array& x, int axis = -1, bool include_initial = false,
                               source_line l = source_line::current()) {
  const array y = cumsum(x, axis, false, l);
  if (!include_initial) return y;
  shape s = y.shape();
  s[axis] = 1;
  return concatenate({zeros(s, y.dtype()), y}, axis, l);
}
/// The running sum in which NaN counts as 0.
/// source  jax.numpy.nancumsum
constexpr array nancumsum(const array& x, int axis = -1, source_line l = source_line::current()) {
  return cumsum(select(isnan(x, l), zeros_like(x), x, l), axis, false, l);
}

/// The n-th difference of neighbours along `axis`.
///
/// shapes  extent e -> e - n
/// dtypes  numbers; of truth values it is whether neighbours differ
/// errors  "diff: axis", "diff: order" if negative
/// source  jax.numpy.diff
constexpr array diff(const array& x, int n = 1, int axis = -1, source_line l = source_line::current()) {
  axis = checked_axis("diff: axis", axis, x, l);
  if (n < 0) reject(x, l, "diff: order", message() << n, "0 or more");
  array y = x;
  for (int k = 0; k < n && x.rank() > 0; ++k) {
    const std::int64_t e = y.extent(axis);
    const array later = slice_in_dim(y, e < 1 ? 0 : 1, e, axis), earlier = slice_in_dim(y, 0, e < 1 ? 0 : e - 1, axis);
    if (y.dtype() == bool_)
      y = later != earlier;
    else
      y = later - located(earlier, l);
  }
  return y;
}
/// The differences of neighbours among all elements, behind `to_begin` and before `to_end`, if these are given.
/// source  jax.numpy.ediff1d
constexpr array ediff1d(const array& x, const array& to_end = {}, const array& to_begin = {},
                        source_line l = source_line::current()) {
  const array y = diff(ravel(x, l), 1, 0, l);
  arrays parts;
  if (to_begin.exists()) parts.push_back(astype(ravel(to_begin, l), y.dtype()));
  parts.push_back(y);
  if (to_end.exists()) parts.push_back(astype(ravel(to_end, l), y.dtype()));
  return concatenate(parts, 0, l);
}

}  // namespace tokamax
