// tokamax/scipy/random/binomial.hpp: how many of n trials succeed, and how n trials fall into classes: binomial, multinomial.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/random/gamma.cpp
#pragma once

#include <tokamax/lax/constant.hpp>                  // constant
#include <tokamax/lax/cumulative.hpp>                // cumsum
#include <tokamax/numpy/clip.hpp>                    // clip
#include <tokamax/numpy/manipulation/axes.hpp>       // moveaxis
#include <tokamax/numpy/take.hpp>                    // take
#include <tokamax/scipy/random/poisson.hpp>          // count_tries
#include <tokamax/transforms/control_flow/scan.hpp>  // scan

#include <utility>  // pair

namespace tokamax::random {

namespace detail {

/// log(k!) without Stirling's terms, (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2: a table up to 9, then a series.
constexpr array stirling_rest(const array& k) {
  const array table = constant(
      {0.081061466795327258, 0.041340695955409294, 0.027677925684998339, 0.020790672103765093, 0.016644691189821192,
       0.013876128823070748, 0.011896709945891770, 0.010411265261972096, 0.009255462182712733, 0.008330563433362871},
      k.dtype());
  const array low = clip(k, 0.0, 9.0), next = k + 1.0, square = where(k > 9.0, next * next, full_like(k, 100));
  const array series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / where(k > 9.0, next, full_like(k, 10));
  return where(k <= 9.0, take(table, astype(floor(low), i32)), series);
}

/// Counts how many waiting times, which are geometric ones, n trials hold: for few expected successes.
constexpr array binomial_by_waiting(const key& k, const array& n, const array& p) {
  struct carry {
    array key, count, trials;
  };
  const array log_failure = log1p(-p);
  const auto more = [&](const carry& s) { return s.trials <= n; };
  const carry end = while_loop([&](const carry& s) { return any(more(s)); },
                               [&](const carry& s) {
                                 const auto [now, later] = split(key(s.key));
                                 const array count = where(more(s), s.count + 1.0, s.count);
                                 const array wait = ceil(log(uniform(now, p.shape(), p.dtype())) / log_failure);
                                 return carry{array(later), count, s.trials + wait};
                               },
                               carry{array(k), zeros_like(p), zeros_like(p)});
  return end.count - 1.0;
}

/// Hoermann's transformed rejection with squeeze, for p up to 1/2 and n p above 10, until all elements are done.
constexpr array binomial_by_rejection(const key& k, const array& n, const array& p, const array& done) {
  const array deviation = sqrt(n * p * (1.0 - p)), b = 1.15 + 2.53 * deviation;
  const array a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5, v_r = 0.92 - 4.2 / b, odds = p / (1.0 - p);
  const array alpha = (2.83 + 5.1 / b) * deviation, mode = floor((n + 1.0) * p);
  const array at_mode = (mode + 0.5) * log((mode + 1.0) / (odds * (n - mode + 1.0)));
  const auto next = [&](const count_tries& s) {
    const auto [later, u_key, v_key] = split<3>(key(s.key));
    const array u = uniform(u_key, p.shape(), p.dtype()) - 0.5, v = uniform(v_key, p.shape(), p.dtype());
    const array from_edge = 0.5 - abs(u), count = floor((2.0 * a / from_edge + b) * u + c);
    const array below = count<0.0, above = count> n, outside = logical_or(below, above);
    const array level = log(v * alpha / (a / (from_edge * from_edge) + b));
    const array bound = at_mode + (n + 1.0) * log((n - mode + 1.0) / (n - count + 1.0)) +
                        (count + 0.5) * log(odds * (n - count + 1.0) / (count + 1.0)) + stirling_rest(mode) +
                        stirling_rest(n - mode) - stirling_rest(count) - stirling_rest(n - count);
    const array inside = logical_and(from_edge >= 0.07, v <= v_r);
    const array accepted = logical_or(inside, logical_and(logical_not(outside), level <= bound));
    return count_tries{array(later), where(accepted, count, s.count), logical_or(s.done, accepted)};
  };
  return while_loop([](const count_tries& s) { return any(logical_not(s.done)); }, next,
                    count_tries{array(k), full_like(p, -1), done})
      .count;
}
}  // namespace detail

/// How many of n trials succeed, each with probability p: P(k) = n! / (k! (n - k)!) p^k (1 - p)^(n - k). NaN where n or p is
/// NaN, n is negative, or p is outside of 0 ... 1; infinite where n is.
///
/// shapes  n and p broadcast to s, which is their shape together if it is {}
/// dtypes  -> `type`, a float, f32 by default; computed in the dtype of p
/// errors  "binomial: shape"
/// source  jax.random.binomial; Kachitvichyanukul, Schmeiser 1988 up to ten successes; Hoermann 1993, "The generation of
///         binomial random variates" beyond. As in poisson, a rare count may be another than JAX's
constexpr array binomial(const key& k, const array& n, const array& p, const shape& s = {}, dtype type = f32,
                         source_line l = source_line::current()) {
  const shape to = detail::sample_shape("binomial: shape", s, n, p, l);
  const array probability = broadcast_to(tokamax::detail::in_floats(p), to, l);
  const array given = broadcast_to(astype(n, probability.dtype()), to, l), trials = floor(given);
  const array rare = probability < 0.5, less = where(rare, probability, 1.0 - probability);
  const array endless = given == std::numeric_limits<double>::infinity();
  const array sound = less >= 0.0, counted = given >= 0.0;  // false for NaN, too
  const array q = where(sound, less, full_like(less, 0.01));
  const array many = logical_and(logical_and(counted, logical_not(endless)), given * q > 10.0);
  const array few = logical_not(logical_or(many, endless));
  const array waited = detail::binomial_by_waiting(k, where(few, trials, zeros_like(trials)), q);
  // elements that have their count by waiting take part with 10000 trials, because all tries share their keys
  const array accepted = detail::binomial_by_rejection(k, where(many, trials, full_like(trials, 1e4)),
                                                       where(many, q, full_like(q, 0.5)), endless);
  const array of_less = where(many, accepted, waited), valid = logical_and(sound, counted);
  const array count = where(rare, of_less, trials - of_less);
  const array at_ends = where(valid, given, full_like(given, std::numeric_limits<double>::quiet_NaN()));
  return astype(where(logical_and(valid, logical_not(endless)), count, at_ends), type);
}

/// How n trials fall into classes of probabilities p, which need not have the sum 1: counts whose sum is n. Each class takes a
/// binomial share of what the classes before it left.
///
/// shapes  n [...], p [..., classes] -> s [..., classes], which is the shape of p if it is {}
/// dtypes  -> `type`, a float, f32 by default
/// errors  "multinomial: p" of rank 0, those of broadcast_to and binomial
/// source  jax.random.multinomial
constexpr array multinomial(const key& k, const array& n, const array& p, const shape& s = {}, dtype type = f32,
                            source_line l = source_line::current()) {
  if (p.rank() == 0) {
    reject(p, l, "multinomial: p", p.type(), "an axis of classes");
    return p;
  }
  const array probability = tokamax::detail::in_floats(p);
  const shape to = s.rank() == 0 ? p.shape() : s;
  shape rows;
  for (int i = 0; i + 1 < to.rank(); ++i) rows.push_back(to[i]);
  const array trials = broadcast_to(astype(n, probability.dtype()), rows, l);
  const array classes = moveaxis(broadcast_to(probability, to, l), -1, 0, l);
  const array left = cumsum(classes, 0, true, l);
  const array share = classes / where(left == 0.0, ones_like(left), left);
  const array keys = split(k, {share.extent(0)}, l);
  using step = std::pair<array, array>;
  const auto drawn = [&](const array& rest, const step& x) {
    const array count = binomial(key(x.second), rest, clip(x.first, 0.0, 1.0), rest.shape(), rest.dtype(), l);
    return step{rest - count, count};
  };
  const array counts = scan(drawn, trials, step{share, keys}, {}, l).second;
  return astype(moveaxis(counts, 0, -1, l), type);
}

}  // namespace tokamax::random
