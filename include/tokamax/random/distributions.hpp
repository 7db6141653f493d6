// tokamax/random/distributions.hpp: samples that are functions of a uniform or normal one: laplace, cauchy, pareto, geometric.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/cumulative.hpp>              // cumsum
#include <tokamax/lax/indexing/search_sorted.hpp>  // search_sorted
#include <tokamax/random/randint.hpp>              // randint, permutation
#include <tokamax/random/sample_shape.hpp>         // sample_shape
#include <tokamax/random/samplers.hpp>             // uniform, normal

namespace tokamax::random {

namespace detail {
/// The distance from 1 to the next number of the dtype.
constexpr double spacing_at_one(dtype t) {
  return t == f16 ? 0x1p-10 : t == bf16 ? 0x1p-7 : t == f64 ? 0x1p-52 : 0x1p-23;
}
}  // namespace detail

/// -1 or 1 with equal probability.
/// dtypes  `type`, i32 by default
/// source  jax.random.rademacher
constexpr array rademacher(const key& k, const shape& s = {}, dtype type = i32,
                           source_line l = source_line::current()) {
  return astype(2 * astype(bernoulli(k, 0.5, s, l), i32) - 1, type);
}
/// The standard Cauchy, Laplace and logistic distributions.
///
/// dtypes  f32, f64, f16 or bf16
/// source  jax.random.cauchy, laplace, logistic
constexpr array cauchy(const key& k, const shape& s = {}, dtype type = f32, source_line l = source_line::current()) {
  const array u = uniform(k, s, type, detail::literal(detail::spacing_at_one(type), type), 1.0, l);
  const array angle = (u - 0.5) * 3.14159265358979323846;
  return sin(angle) / cos(angle);
}
constexpr array laplace(const key& k, const shape& s = {}, dtype type = f32, source_line l = source_line::current()) {
  const double low = -1 + detail::spacing_at_one(type) / 2;
  const array u = uniform(k, s, type, detail::literal(low, type), 1.0, l);
  return sign(u) * log1p(-abs(u));
}
constexpr array logistic(const key& k, const shape& s = {}, dtype type = f32, source_line l = source_line::current()) {
  const array u = uniform(k, s, type, detail::literal(detail::smallest(type), type), 1.0, l);
  return log(u) - log1p(-u);
}
/// exp of a normal sample with standard deviation sigma; exp(e / b) of an exponential one; scale times the length of a
/// normal vector of two components (rayleigh) or three (maxwell); and scale e^(1 / concentration).
///
/// shapes  parameters broadcast to s; s {} stands for their own shape
/// errors  "lognormal: shape" and so on
/// source  jax.random.lognormal, pareto, rayleigh, maxwell, weibull_min
constexpr array lognormal(const key& k, const array& sigma = 1.0, const shape& s = {}, dtype type = f32,
                          source_line l = source_line::current()) {
  const shape drawn = detail::sample_shape("lognormal: shape", s, sigma, l);
  return exp(normal(k, drawn, type, l) * located(astype(sigma, type), l));
}
constexpr array pareto(const key& k, const array& b, const shape& s = {}, dtype type = f32,
                       source_line l = source_line::current()) {
  const shape drawn = detail::sample_shape("pareto: shape", s, b, l);
  return exp(exponential(k, drawn, type, l) / located(astype(b, type), l));
}
constexpr array rayleigh(const key& k, const array& scale, const shape& s = {}, dtype type = f32,
                         source_line l = source_line::current()) {
  const shape drawn = detail::sample_shape("rayleigh: shape", s, scale, l);
  const array smallest = detail::literal(detail::smallest(type), type);  // in place of 0, whose logarithm is infinite
  const array u = maximum(uniform(k, drawn, type, 0.0, 1.0, l), smallest);
  return astype(scale, type) * located(sqrt(log(u) * -2.0), l);
}
constexpr array maxwell(const key& k, const shape& s = {}, dtype type = f32, source_line l = source_line::current()) {
  shape triples = s;
  triples.push_back(3);
  return sqrt(sum(square(normal(k, triples, type, l)), {{-1}}));
}
constexpr array weibull_min(const key& k, const array& scale, const array& concentration, const shape& s = {},
                            dtype type = f32, source_line l = source_line::current()) {
  const shape drawn = detail::sample_shape("weibull_min: shape", s, scale, concentration, l);
  return power(exponential(k, drawn, type, l), 1.0 / astype(concentration, type), l) * located(astype(scale, type), l);
}
/// A Maxwell sample with a random sign, times scale, plus loc.
/// shapes  loc and scale broadcast to s; s {} stands for their own shape
/// errors  "double_sided_maxwell: shape"
/// source  jax.random.double_sided_maxwell
constexpr array double_sided_maxwell(const key& k, const array& loc, const array& scale, const shape& s = {},
                                     dtype type = f32, source_line l = source_line::current()) {
  const auto [magnitude, signs] = split(k, l);
  const shape drawn = detail::sample_shape("double_sided_maxwell: shape", s, loc, scale, l);
  return rademacher(signs, drawn, type, l) * maxwell(magnitude, drawn, type, l) * located(astype(scale, type), l) +
         located(astype(loc, type), l);
}
/// Between left and right, with a density that rises to `mode` and falls from there.
/// shapes  parameters broadcast to s; s {} stands for their own shape
/// errors  "triangular: shape"
/// source  jax.random.triangular
constexpr array triangular(const key& k, const array& left, const array& mode, const array& right, const shape& s = {},
                           dtype type = f32, source_line l = source_line::current()) {
  const array a = astype(left, type), b = astype(right, type), c = astype(mode, type);
  const shape drawn = detail::sample_shape("triangular: shape", s, c, b - a, l);
  const array u = uniform(k, drawn, type, 0.0, 1.0, l), share = (c - a) / (b - a);
  return select(u < located(share, l), a + sqrt(u * (b - a) * (c - a)), b - sqrt((1.0 - u) * (b - a) * (b - c)), l);
}
/// How many trials there are up to the first success, whose probability is p.
/// shapes  p broadcasts to s; s {} stands for the shape of p
/// dtypes  `type`, i32 by default
/// errors  "geometric: shape"
/// source  jax.random.geometric
constexpr array geometric(const key& k, const array& p, const shape& s = {}, dtype type = i32,
                          source_line l = source_line::current()) {
  const shape drawn = detail::sample_shape("geometric: shape", s, p, l);
  const array real = tokamax::detail::in_floats(p), u = uniform(k, drawn, real.dtype(), 0.0, 1.0, l);
  const array trial = log(select(u == 0.0, ones_like(u), u)) / located(log1p(-real), l);
  return astype(floor(trial) + 1.0, type);
}
/// When a drifting random walk first passes a level: the inverse Gaussian distribution with shape parameter 1.
/// shapes  mean broadcasts to s; s {} stands for the shape of mean
/// errors  "wald: shape"
/// source  jax.random.wald; Michael, Schucany, Haas 1976
constexpr array wald(const key& k, const array& mean, const shape& s = {}, dtype type = f32,
                     source_line l = source_line::current()) {
  const auto [first, second] = split(k, l);
  const shape drawn = detail::sample_shape("wald: shape", s, mean, l);
  const array m = broadcast_to(astype(mean, type), drawn, l), z = uniform(second, drawn, type, 0.0, 1.0, l);
  const array y = square(normal(first, drawn, type, l)), m2 = square(m);
  const array x = m + m2 * y / 2.0 - m / 2.0 * sqrt(4.0 * m * y + m2 * square(y));
  return select(z <= m / (m + x), x, m2 / x);
}

/// How choice draws.
struct choice_options {
  array p = {};         ///< [n]: the probabilities of the entries, or any multiple of them; none: all are equal
  bool replace = true;  ///< an entry may be drawn again; else each at most once
  int axis = 0;
};
namespace detail {
/// The positions of `count` entries without replacement, by the largest of log(p) + gumbel.
constexpr array gumbel_top(const key& k, const array& p, std::int64_t count, source_line l) {
  const array order = argsort(-gumbel(k, p.shape(), p.dtype(), l) - log(p), 0, false, i32, l);
  return slice_in_dim(order, 0, count, 0, l);
}
/// Positions with replacement: where a uniform number lies among the running sums of p.
constexpr array by_running_sums(const key& k, const array& p, const shape& s, source_line l) {
  const array sums = cumsum(p, 0, false, l), total = slice_in_dim(sums, p.extent(0) - 1, p.extent(0), 0, l);
  const array drawn = reshape(total, {}, l) * (1.0 - uniform(k, s, p.dtype(), 0.0, 1.0, l));
  return search_sorted(sums, drawn, {}, l);
}
}  // namespace detail

/// Entries of x along `axis`, chosen with equal probabilities or with those of p: `choice(k, x, {3}, {.p = weights})`.
/// Without replacement, fewer positive p than entries drawn leave the rest open.
///
/// shapes  x [..., n, ...] -> s in the place of the axis
/// errors  "choice: axis", "choice: p" that is not n floats, "choice: number" of more entries than there are, without
///         replacement, or of any when there are none
/// source  jax.random.choice
constexpr array choice(const key& k, const array& x, const shape& s = {}, const choice_options& o = {},
                       source_line l = source_line::current()) {
  const int axis = checked_axis("choice: axis", o.axis, x, l);
  if (x.rank() == 0) return x;
  const std::int64_t n = x.extent(axis), count = size(s);
  const bool has_p = o.p.exists() && count > 0;
  if (o.p.exists() && (!is_floating(o.p.dtype()) || o.p.shape() != shape{n})) {
    const array both[] = {o.p, x};
    reject(both, 2, l, "choice: p", o.p.type(), message("floats [") << n << "]");
    return x;
  }
  if (count > n && (!o.replace || (has_p && n == 0))) {
    reject(x, l, "choice: number", message() << count, message("at most ") << n);
    return x;
  }
  if (o.replace) {
    const array at =
        has_p ? detail::by_running_sums(k, o.p, s, l) : randint(k, s, 0, array(n, {i32, false, {}}), i32, l);
    return take(x, at, axis, l);
  }
  const array order = has_p ? detail::gumbel_top(k, o.p, count, l) : slice_in_dim(permutation(k, n, l), 0, count, 0);
  return take(x, reshape(order, s), axis, l);
}

}  // namespace tokamax::random
