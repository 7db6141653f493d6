// tokamax/random/samplers.hpp: samples of the usual distributions, from JAX's random bits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/linked.hpp>              // linked
#include <tokamax/lax/elementwise/special.hpp>  // fma, erf_inv
#include <tokamax/lax/indexing/slice.hpp>       // slice_in_dim
#include <tokamax/lax/reduce.hpp>               // argmax
#include <tokamax/numpy/clip.hpp>               // clip
#include <tokamax/random/key.hpp>               // key, bits
#include <tokamax/random/sample_shape.hpp>      // sample_shape, check_bounds

/// uniform, bernoulli, bits, randint, permutation, split and fold_in have JAX's bits. normal, truncated_normal, exponential
/// and gumbel use a logarithm, whose last bits differ between libraries: they agree with JAX to 3 units in the last place.
/// categorical compares such samples, so it agrees with JAX unless two classes nearly tie.
namespace tokamax::random {

namespace detail {
constexpr array literal(double v, dtype type) { return array(v, {type, false, {}}); }
constexpr double float_round(double v) { return static_cast<double>(static_cast<float>(v)); }
constexpr bool is_sampled(dtype t) { return t == f32 || t == bf16 || t == f16 || t == f64; }

/// k / 2^m for m random bits k: what filling the fraction of 1.0 and subtracting 1 gives, exactly. Narrow dtypes take the low
/// byte or half of a word, f64 takes both words of a hash.
constexpr array unit(const key& k, const shape& s, dtype type, source_line l) {
  if (type == f64) {
    const array both = split(k, s, l);
    const auto word = [&](int i) { return reshape(slice_in_dim(both, i, i + 1, s.rank(), l), s, l); };
    const array high = convert_element_type(word(0), f64) * 0x1p20;
    return (high + convert_element_type(shift_right_logical(word(1), 12, l), f64)) * 0x1p-52;
  }
  const array b = bits(k, s, l);
  const auto fraction = [&](double mask, int dropped, double scale) {
    const array kept = shift_right_logical(bitwise_and(b, array(mask, {u32, false, {}}), l), dropped, l);
    return convert_element_type(convert_element_type(convert_element_type(kept, i32), f32) * scale, type);
  };
  if (type == bf16) return fraction(255.0, 1, 0x1p-7);
  if (type == f16) return fraction(65535.0, 6, 0x1p-10);
  return convert_element_type(convert_element_type(shift_right_logical(b, 9, l), i32), f32) * 0x1p-23;
}

constexpr array uniform_here(const key& k, const shape& s, dtype type, const array& low, const array& high,
                             source_line l) {
  if (!is_sampled(type)) {
    reject(k, l, "uniform: dtype", name(type), "f16, bf16, f32 or f64");
    return k;
  }
  if (!check_bounds("uniform: bounds", s, low, high, l)) return zeros(s, type);
  const array f = unit(k, s, type, l);
  if (low.is_literal() && high.is_literal() && low.literal() == 0 && high.literal() == 1) return f;
  const array from = convert_element_type(low, type), to = convert_element_type(high, type);
  array span;
  if (from.is_literal() && to.is_literal()) {
    const double difference = to.literal() - from.literal();
    span = literal(type == f64 ? difference : float_round(difference), type);
  } else {
    span = to - from;
  }
  array x;
  if (type == bf16 || type == f16)
    x = maximum(from, f * span + from, l);
  else
    x = maximum(from, fma(f, span, from, l), l);
  return select(x < to, x, from, l);  // rounding may have made it `to`, as it does in JAX
}
constexpr array normal_here(const key& k, const shape& s, dtype type, source_line l) {
  if (!is_sampled(type)) {
    reject(k, l, "normal: dtype", name(type), "f16, bf16, f32 or f64");
    return k;
  }
  // from the number after -1; the length of the interval rounds to 2
  const double after = type == bf16 ? 0x1p-8 : type == f16 ? 0x1p-11 : type == f32 ? 0x1p-24 : 0x1p-53;
  const array low = literal(after - 1, type);
  const array u = maximum(low, unit(k, s, type, l) * 2.0 + low, l);
  return erf_inv(u, l) * literal(1.4142135623730951, type);
}
/// The smallest normal number.
constexpr double smallest(dtype t) { return t == f16 ? 0x1p-14 : t == f64 ? 0x1p-1022 : 0x1p-126; }
/// The density of a standard normal variable over the probability Q to be above x >= 3: x + 1 / (x + 2 / (x + 3 / ...)).
constexpr array hazard(const array& x) {
  array h = x;
  for (int k = 12; k > 0; --k) h = x + static_cast<double>(k) / h;
  return h;
}
/// Samples d of how far above `low` >= 3 a variable lies that is in (low, high): Newton's steps from the right for
/// log(Q(low + d) / Q(low)) = log(1 - f (1 - Q(high) / Q(low))), whose sides keep their digits where Q itself vanishes.
constexpr array beyond(const array& f, const array& low, const array& high) {
  const array at_low = hazard(low);
  const auto log_ratio = [&](const array& d) { return -d * (0.5 * d + low) - log(hazard(low + d) / at_low); };
  const array wanted = log1p(f * expm1(log_ratio(high - low)));
  array d = -2.0 * wanted / (sqrt(low * low - 2.0 * wanted) + low);
  for (int step = 0; step < 4; ++step) d = d + (log_ratio(d) - wanted) / hazard(low + d);
  return d;
}
constexpr array truncated_normal_here(const key& k, double low, double high, const shape& s, source_line l) {
  const double root = float_round(1.4142135623730951);
  const array f = unit(k, s, f32, l);
  array x;
  if (low >= 3) {
    x = literal(low, f32) + beyond(f, literal(low, f32), literal(high, f32));
  } else if (high <= -3) {
    x = literal(high, f32) - beyond(f, literal(-high, f32), literal(-low, f32));
  } else {
    const array a = erf(literal(low / root, f32), l), b = erf(literal(high / root, f32), l);
    const array from = broadcast_to(a, s, l);
    const array u =
        clip(maximum(from, fma(f, b - a, a, l), l), literal(0x1p-24 - 1, f32), literal(1 - 0x1p-24, f32), l);
    x = erf_inv(u, l) * literal(root, f32);
  }
  auto next = [](double v, int step) {  // the float after v, away from or toward zero
    const auto bit = std::bit_cast<std::int32_t>(static_cast<float>(v));
    return static_cast<double>(
        std::bit_cast<float>(v == 0 ? step > 0 ? 1 : std::int32_t(0x80000001u) : bit + (v > 0 ? step : -step)));
  };
  return clip(x, literal(next(low, 1), f32), literal(next(high, -1), f32), l);
}
constexpr array times_here(const array& x, double factor) { return x * factor; }
/// x * factor. Models hold the addresses of samplers, and this keeps the rules of ops out of their files.
constexpr array times(const array& x, double factor) { return linked<random::detail::times_here>(x, factor); }
}  // namespace detail

/// Uniform in [low, high).
///
/// shapes  low and high broadcast to s
/// dtypes  f32 (23 random bits an element), f64 (52), f16 (10) or bf16 (7)
/// errors  "uniform: dtype", "random: shape" (so have all samplers), "uniform: bounds" that do not broadcast to s
/// source  jax.random.uniform
constexpr array uniform(const key& k, const shape& s = {}, dtype type = f32, const array& low = 0.0,
                        const array& high = 1.0, source_line l = source_line::current()) {
  return linked<random::detail::uniform_here>(k, s, type, low, high, l);
}

/// Standard normal, by the inverse error function of a uniform sample in (-1, 1).
/// dtypes  f32, f64, f16 or bf16
/// source  jax.random.normal, to 3 units in the last place
constexpr array normal(const key& k, const shape& s = {}, dtype type = f32, source_line l = source_line::current()) {
  return linked<random::detail::normal_here>(k, s, type, l);
}

/// Normal restricted to (low, high).
/// source  jax.random.truncated_normal, to 3 units in the last place unless both bounds are 3 or more on one side: there JAX
///         takes differences of numbers near 1 and returns few numbers, and here the samples are those of the tail
constexpr array truncated_normal(const key& k, double low, double high, const shape& s = {},
                                 source_line l = source_line::current()) {
  return linked<random::detail::truncated_normal_here>(k, low, high, s, l);
}

/// True with probability p.
///
/// shapes  p broadcasts to s; s {} stands for the shape of p, so that each element has a draw of its own
/// errors  "bernoulli: shape"
/// source  jax.random.bernoulli
constexpr array bernoulli(const key& k, const array& p, const shape& s = {}, source_line l = source_line::current()) {
  const shape drawn = detail::sample_shape("bernoulli: shape", s, p, l);
  return uniform(k, drawn, f32, 0.0, 1.0, l) < located(convert_element_type(p, f32), l);
}

/// The standard Gumbel distribution.
/// dtypes  f32, f64, f16 or bf16
/// source  jax.random.gumbel, mode "low", to 3 units in the last place of the larger logarithm
constexpr array gumbel(const key& k, const shape& s = {}, dtype type = f32, source_line l = source_line::current()) {
  return -log(-log(uniform(k, s, type, detail::literal(detail::smallest(type), type), 1.0, l), l), l);
}

/// The exponential distribution with rate 1.
/// dtypes  f32, f64, f16 or bf16
/// source  jax.random.exponential, to a unit in the last place
constexpr array exponential(const key& k, const shape& s = {}, dtype type = f32,
                            source_line l = source_line::current()) {
  return -log1p(-uniform(k, s, type, 0.0, 1.0, l), l);
}

/// Classes along `axis` of `logits` (unnormalised log probabilities), by the Gumbel-max method.
///
/// shapes  logits [...] -> without `axis`
/// dtypes  -> i32
/// source  jax.random.categorical
constexpr array categorical(const key& k, const array& logits, int axis = -1, source_line l = source_line::current()) {
  return argmax(gumbel(k, logits.shape(), f32, l) + located(convert_element_type(logits, f32), l), axis, l);
}
/// `draws` classes for each row of logits: [draws..., rows...]. JAX's `shape` has the extents of the rows at its end, which are
/// not given here.
constexpr array categorical(const key& k, const array& logits, int axis, const shape& draws,
                            source_line l = source_line::current()) {
  shape s = draws;
  for (std::int64_t e : logits.shape()) s.push_back(e);
  return argmax(gumbel(k, s, f32, l) + located(convert_element_type(logits, f32), l),
                axis < 0 ? axis : axis + draws.rank(), l);
}

}  // namespace tokamax::random
