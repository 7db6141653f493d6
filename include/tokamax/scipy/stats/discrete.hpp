// tokamax/scipy/stats/discrete.hpp: distributions of counts: bernoulli, binom, poisson, geom, nbinom, multinomial.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/stats.cpp
#pragma once

#include <tokamax/scipy/stats/distribution.hpp>  // or_nothing

// logpmf is the logarithm of the probability of k: minus infinity where k is no whole number, or outside of the possible ones.
// Shapes and dtypes are as for continuous distributions. Source: jax.scipy.stats; that k is
// no whole number matters for bernoulli as for the others, as in SciPy.

namespace tokamax::scipy::stats::detail {
/// k - loc, and whether it is a whole number from 0 on.
struct count {
  array given, k, inside;
  constexpr count(const array& x, const array& loc) {
    given = in_floats(x) - located(loc);
    inside = logical_and(given >= 0.0, given == floor(given));
    k = standing_in(inside, given, 0);
  }
};
/// log of n over k.
constexpr array log_choose(const array& n, const array& k) {
  return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - located(k) + 1.0);
}
}  // namespace tokamax::scipy::stats::detail

/// p of 1, and 1 - p of 0
namespace tokamax::scipy::stats::bernoulli {
constexpr array logpmf(const array& k, const array& p, const array& loc = 0.0) {
  const detail::count c(k, loc);
  const array inside = logical_and(c.inside, c.k <= 1.0), y = detail::standing_in(inside, c.k, 0);
  return detail::or_nothing(inside, detail::xlogy(y, p) + detail::xlog1py(1.0 - y, -p), c.given);
}
constexpr array pmf(const array& k, const array& p, const array& loc = 0.0) { return exp(logpmf(k, p, loc)); }
constexpr array cdf(const array& k, const array& p) {
  const array x = detail::in_floats(k);
  return where(x < 0.0, array(0.0), where(x < 1.0, 1.0 - p, where(x == x, ones_like(x), x)));
}
}  // namespace tokamax::scipy::stats::bernoulli

/// k successes of n: (n over k) p^k (1 - p)^(n - k)
namespace tokamax::scipy::stats::binom {
constexpr array logpmf(const array& k, const array& n, const array& p, const array& loc = 0.0) {
  const detail::count c(k, loc);
  const array all = detail::in_floats(n), inside = logical_and(c.inside, c.k <= all);
  const array y = detail::standing_in(inside, c.k, 0);
  return detail::or_nothing(
      inside, detail::log_choose(all, y) + detail::xlogy(y, p) + detail::xlog1py(all - located(y), -p), c.given);
}
constexpr array pmf(const array& k, const array& n, const array& p, const array& loc = 0.0) {
  return exp(logpmf(k, n, p, loc));
}
}  // namespace tokamax::scipy::stats::binom

/// mu^k e^-mu / k!
namespace tokamax::scipy::stats::poisson {
constexpr array logpmf(const array& k, const array& mu, const array& loc = 0.0) {
  const detail::count c(k, loc);
  return detail::or_nothing(c.inside, detail::xlogy(c.k, mu) - detail::gammaln(c.k + 1.0) - mu, c.given);
}
constexpr array pmf(const array& k, const array& mu, const array& loc = 0.0) { return exp(logpmf(k, mu, loc)); }
constexpr array cdf(const array& k, const array& mu, const array& loc = 0.0) {
  const array x = detail::in_floats(k) - located(loc), below = x < 0.0;
  return where(below, array(0.0), igammac(floor(where(below, zeros_like(x), x)) + 1.0, mu));
}
}  // namespace tokamax::scipy::stats::poisson

/// k trials until the first success: p (1 - p)^(k - 1) for k >= 1
namespace tokamax::scipy::stats::geom {
constexpr array logpmf(const array& k, const array& p, const array& loc = 0.0) {
  const detail::count c(k, loc);
  const array inside = logical_and(c.inside, c.k >= 1.0), y = detail::standing_in(inside, c.k, 1);
  return detail::or_nothing(inside, detail::xlog1py(y - 1.0, -p) + tokamax::log(p), c.given);
}
constexpr array pmf(const array& k, const array& p, const array& loc = 0.0) { return exp(logpmf(k, p, loc)); }
}  // namespace tokamax::scipy::stats::geom

/// k failures before the success number n: (k + n - 1 over k) p^n (1 - p)^k
namespace tokamax::scipy::stats::nbinom {
constexpr array logpmf(const array& k, const array& n, const array& p, const array& loc = 0.0) {
  const detail::count c(k, loc);
  const array ways = detail::gammaln(c.k + n) - detail::gammaln(c.k + 1.0) - detail::gammaln(n);
  return detail::or_nothing(c.inside, ways + n * tokamax::log(p) + detail::xlog1py(c.k, -p), c.given);
}
constexpr array pmf(const array& k, const array& n, const array& p, const array& loc = 0.0) {
  return exp(logpmf(k, n, p, loc));
}
}  // namespace tokamax::scipy::stats::nbinom

/// Counts x [..., m] of n draws with probabilities p [..., m]: n! prod p^x / x!
namespace tokamax::scipy::stats::multinomial {
constexpr array logpmf(const array& x, const array& n, const array& p) {
  const array k = detail::in_floats(x), total = detail::in_floats(n);
  const array parts = detail::xlogy(k, p) - detail::gammaln(k + 1.0);
  const array value = detail::gammaln(total + 1.0) + sum(parts, {.axis = {-1}});
  return detail::or_nothing(sum(k, {.axis = {-1}}) == total, value, sum(k, {.axis = {-1}}));
}
constexpr array pmf(const array& x, const array& n, const array& p) { return exp(logpmf(x, n, p)); }
}  // namespace tokamax::scipy::stats::multinomial
