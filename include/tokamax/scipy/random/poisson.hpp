// tokamax/scipy/random/poisson.hpp: how many events there are, when so many are expected.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/random/gamma.cpp
#pragma once

#include <tokamax/numpy/where.hpp>                         // where
#include <tokamax/random/sample_shape.hpp>                 // sample_shape
#include <tokamax/random/samplers.hpp>                     // uniform
#include <tokamax/scipy/special/gamma.hpp>                 // lgamma
#include <tokamax/transforms/control_flow/while_loop.hpp>  // while_loop

namespace tokamax::random {

namespace detail {

/// A count for each element, and which elements have theirs. As in JAX, a later try that is accepted replaces a count while
/// other elements still have none.
struct count_tries {
  array key, count, done;
};

/// Knuth's count for small rates: how many uniform numbers have a product above e^-rate.
constexpr array poisson_by_products(const key& k, const array& rate) {
  struct carry {
    array key, count, log_product;
  };
  const auto below = [&](const carry& s) { return s.log_product > -rate; };
  const carry end =
      while_loop([&](const carry& s) { return any(below(s)); },
                 [&](const carry& s) {
                   const auto [later, now] = split(key(s.key));
                   const array count = where(below(s), s.count + 1.0, s.count);
                   return carry{array(later), count, s.log_product + log(uniform(now, rate.shape(), rate.dtype()))};
                 },
                 carry{array(k), zeros_like(rate), zeros_like(rate)});
  return end.count - 1.0;
}

/// Hoermann's transformed rejection for rates from 10 on, until all elements are done.
constexpr array poisson_by_rejection(const key& k, const array& rate, const array& done) {
  const array log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
  const array inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2.0);
  const auto next = [&](const count_tries& s) {
    const auto [later, u_key, v_key] = split<3>(key(s.key));
    const array u = uniform(u_key, rate.shape(), rate.dtype()) - 0.5, v = uniform(v_key, rate.shape(), rate.dtype());
    const array from_edge = 0.5 - abs(u);
    const array count = floor((2.0 * a / from_edge + b) * u + rate + 0.43);
    const array level = log(v * inverse_alpha / (a / (from_edge * from_edge) + b));
    const array density = -rate + count * log_rate - lgamma(count + 1.0);
    const array inside = logical_and(from_edge >= 0.07, v <= v_r);
    const array near = from_edge<0.013, above = v> from_edge;
    const array outside = logical_or(count < 0.0, logical_and(near, above));
    const array accepted = logical_or(inside, logical_and(logical_not(outside), level <= density));
    return count_tries{array(later), where(accepted, count, s.count), logical_or(s.done, accepted)};
  };
  return while_loop([](const count_tries& s) { return any(logical_not(s.done)); }, next,
                    count_tries{array(k), full_like(rate, -1), done})
      .count;
}
}  // namespace detail

/// The number of events of a Poisson process whose expected number is `rate`: P(k) = rate^k e^-rate / k!. It is -1 where the
/// rate is negative, infinite or NaN.
///
/// shapes  rate broadcasts to s, which is its shape if it is {}
/// dtypes  rate any, computed in f32; -> `type`, i32 by default
/// errors  "poisson: shape"
/// source  jax.random.poisson; Knuth below 10; Hoermann 1993, "The transformed rejection method for generating Poisson random
///         variables" from there on. Tries compare logarithms, whose last bits differ between libraries, so a
///         rare count of a large rate may be another than JAX's. JAX does not return where a rate is infinite
constexpr array poisson(const key& k, const array& rate, const shape& s = {}, dtype type = i32,
                        source_line l = source_line::current()) {
  const array expected = broadcast_to(astype(rate, f32), detail::sample_shape("poisson: shape", s, rate, l), l);
  const array endless = expected == std::numeric_limits<double>::infinity();
  const array large = logical_and(expected >= 10.0, logical_not(endless));
  const array few = where(logical_or(large, endless), zeros_like(expected), expected);
  const array by_rejection = detail::poisson_by_rejection(k, where(large, expected, full_like(expected, 1e5)), endless);
  const array count = where(large, by_rejection, detail::poisson_by_products(k, few));
  return astype(where(expected == 0.0, zeros_like(count), count), type);
}

}  // namespace tokamax::random
