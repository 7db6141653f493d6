// tokamax/scipy/random/gamma.hpp: samples of the gamma distribution, and their logarithms: gamma, loggamma.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/random/gamma.cpp
#pragma once

#include <tokamax/numpy/where.hpp>                         // where
#include <tokamax/random/sample_shape.hpp>                 // sample_shape
#include <tokamax/random/samplers.hpp>                     // normal, uniform, exponential
#include <tokamax/scipy/special/incomplete_gamma.hpp>      // random_gamma_grad
#include <tokamax/transforms/control_flow/while_loop.hpp>  // while_loop
#include <tokamax/transforms/vmap.hpp>                     // vmap

#include <array>  // array

namespace tokamax {

/// Attributes of random_gamma.
struct gamma_options {
  bool log_space = false;  ///< the logarithm of the sample, which does not underflow where a is small
};

constexpr array random_gamma(const array& keys, const array& a, gamma_options options,
                             source_line l = source_line::current());

namespace detail {

/// x^2, v^3 and u of the try that is accepted, where v = 1 + c x > 0 for a normal x.
struct gamma_try {
  array key, square, cube, level;
};

/// Marsaglia and Tsang's tries: d v^3 is a sample if log(u) < x^2 / 2 + d (1 - v^3 + log(v^3)). The first try is refused
/// as it is none.
constexpr array accepted_cube(const array& key, const array& d, const array& c) {
  const array one = ones_like(d), zero = zeros_like(d);
  const auto refused = [&](const gamma_try& s) {
    return logical_and(s.level >= 1.0 - 0.0331 * (s.square * s.square),
                       log(s.level) >= s.square * 0.5 + d * (1.0 - s.cube + log(s.cube)));
  };
  const auto next = [&](const gamma_try& s) {
    const auto [later, x_key, u_key] = random::split<3>(random::key(s.key));
    using step = std::array<array, 3>;  // key, x, v
    const step x = while_loop([](const step& t) { return t[2] <= 0.0; },
                              [&](const step& t) {
                                const auto [chain, now] = random::split(random::key(t[0]));
                                const array sample = random::normal(now, {}, d.dtype());
                                return step{array(chain), sample, sample * c + 1.0};
                              },
                              step{array(x_key), zero, -one});
    return gamma_try{array(later), x[1] * x[1], x[2] * x[2] * x[2], random::uniform(u_key, {}, d.dtype())};
  };
  return while_loop(refused, next, gamma_try{key, zero, one, one + one}).cube;
}

/// One sample. Below a = 1 it is one of a + 1 times u^(1 / a).
template <bool LogSpace>
constexpr array gamma_of(const array& key, const array& a) {
  const array large = a >= 1.0, one = ones_like(a), zero = zeros_like(a);
  const array d = where(large, a, a + 1.0) - 1.0 / 3, c = (1.0 / 3) / sqrt(d);
  const auto [tries, last] = random::split(random::key(key));
  const array cube = accepted_cube(array(tries), d, c);
  if constexpr (LogSpace) {
    const array u = -random::exponential(last, {}, a.dtype());
    return log(d) + log(cube) + where(logical_or(large, u == 0.0), zero, u * (1.0 / a));
  } else {
    const array u = 1.0 - random::uniform(last, {}, a.dtype());
    return d * cube * where(large, one, power(u, 1.0 / a));
  }
}
constexpr arrays gamma_compose(const call& c) {
  const shape flat{c[1].size()}, pairs{c[1].size(), 2};
  const bool log_space = c.attrs<gamma_options>().log_space;
  const array keys = reshape(c[0], pairs), a = reshape(c[1], flat);
  const array samples = log_space ? vmap(gamma_of<true>)(keys, a) : vmap(gamma_of<false>)(keys, a);
  return reshape(samples, c[1].shape());
}
/// The cotangent of a. A sample depends on a so that its quantile stays; one that underflows counts as the smallest number.
constexpr arrays gamma_vjp(const call& c) {
  if (!c.needs(1)) return {array(), array()};
  const dtype wide = carrying(c[1].dtype());
  const array a = astype(c[1], wide), y = astype(c.out(), wide), ct = astype(c.ct(), wide);
  if (!c.attrs<gamma_options>().log_space) return {array(), astype(ct * random_gamma_grad(a, y), c[1].dtype())};
  const array x = exp(y), sample = where(x == 0.0, filled_like(x, random::detail::smallest(c[1].dtype())), x);
  return {array(), astype(ct * (random_gamma_grad(a, sample) / sample), c[1].dtype())};
}
}  // namespace detail

inline constexpr op random_gamma_p{
    .name = "random_gamma",
    .attributes = schema<gamma_options>,
    .infer = [](const call& c) -> array_type {
      const array &keys = c[0], &a = c[1];
      if (!random::detail::is_sampled(a.dtype()))
        return c.fail("gamma: dtype", name(a.dtype()), "f16, bf16, f32 or f64");
      bool ok = keys.dtype() == u32 && keys.rank() == a.rank() + 1 && keys.extent(-1) == 2;
      for (int i = 0; ok && i < a.rank(); ++i) ok = keys.extent(i) == a.extent(i);
      if (!ok) return c.fail("random_gamma: keys", keys.type(), message("u32, one key for each of ") << a.type());
      for (int i = 0; i < a.rank(); ++i)
        if (is_dyn(a.extent(i)))
          return c.fail("dynamic extent: random_gamma", a.type(), "extents known when it is traced");
      return {a.dtype(), false, a.shape()};
    },
    .compose = detail::gamma_compose,
    .vjp = detail::gamma_vjp,
    .batch = detail::elementwise_batch,
};

/// One sample for each key: of the gamma distribution with shape parameter a and scale 1, or its logarithm.
///
/// shapes  keys [..., 2], a [...] -> [...]
/// errors  "random_gamma: keys", "gamma: dtype"
/// source  jax.random.random_gamma_p, on keys that are split
constexpr array random_gamma(const array& keys, const array& a, gamma_options options, source_line l) {
  return bind(described<random_gamma_p>(), {keys, a}, options, l);
}

}  // namespace tokamax

namespace tokamax::random {

namespace detail {
constexpr array gamma_samples(const key& k, const array& a, const shape& s, dtype type, bool log_space, source_line l) {
  const shape to = sample_shape("gamma: shape", s, a, l);
  return random_gamma(split(k, to, l), broadcast_to(astype(a, type), to, l), {log_space}, l);
}
}  // namespace detail

/// The gamma distribution with shape parameter a and scale 1: density x^(a - 1) e^-x / gamma(a). Divide by a rate.
///
///   d(sample) / d(a) = random_gamma_grad(a, sample)
///
/// shapes  a broadcasts to s, which is the shape of a if it is {}
/// dtypes  f32, f64, f16 or bf16
/// errors  "gamma: shape", "gamma: dtype"
/// source  jax.random.gamma; Marsaglia, Tsang 2000, "A simple method for generating gamma variables". Tries compare
///         logarithms, whose last bits differ between libraries, so a rare sample may be another than JAX's
constexpr array gamma(const key& k, const array& a, const shape& s = {}, dtype type = f32,
                      source_line l = source_line::current()) {
  return detail::gamma_samples(k, a, s, type, false, l);
}
/// The logarithm of a gamma sample, which is finite also where a is so small that the sample underflows.
/// source  jax.random.loggamma
constexpr array loggamma(const key& k, const array& a, const shape& s = {}, dtype type = f32,
                         source_line l = source_line::current()) {
  return detail::gamma_samples(k, a, s, type, true, l);
}

}  // namespace tokamax::random
