// tokamax/scipy/stats/distribution.hpp: what densities share: standard variables, and values outside of where they are positive.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/stats.cpp
#pragma once

#include <tokamax/scipy/special/elementary.hpp>       // xlogy
#include <tokamax/scipy/special/error_functions.hpp>  // for its users: ndtr
#include <tokamax/scipy/special/gamma_functions.hpp>  // gammaln

namespace tokamax::scipy::stats::detail {

/// (x - loc) / scale
constexpr array standardized(const array& x, const array& loc, const array& scale) {
  return (tokamax::detail::in_floats(x) - located(loc)) / scale;
}
/// Where `inside` is false a density is 0, so its logarithm is minus infinity, but NaN if x is that. Formulas get
/// `standing_in(inside, x, v)` there, with some v for which they and their derivatives are finite.
constexpr array or_nothing(const array& inside, const array& log_density, const array& x) {
  return where(inside, log_density, where(x == x, -tokamax::detail::infinity_like(x), x));
}
/// A quantile, and NaN where q is no probability.
constexpr array of_probability(const array& q, const array& quantile) {
  return where(logical_and(q >= 0.0, q <= 1.0), quantile, tokamax::detail::nan_like(quantile));
}
constexpr array standing_in(const array& inside, const array& x, double v) { return where(inside, x, array(v)); }

using special::gammaln;
using special::xlog1py;
using special::xlogy;
using tokamax::detail::in_floats;

}  // namespace tokamax::scipy::stats::detail
