// tokamax/complex/exponential.hpp: exponentials, logarithms, roots and powers of complex numbers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/complex/arithmetic.hpp>   // reciprocal
#include <tokamax/complex/holomorphic.hpp>  // holomorphic

namespace tokamax {

namespace detail {
/// e^x times a factor, which is at most 1. Where e^x overflows, the product may be finite.
constexpr array exp_times(const array& x, const array& factor) {
  const array e = exp(x), half = exp(0.5f * x);
  return select(is_infinite(e), half * factor * half, e * factor);
}
/// The imaginary part of an exponential: real numbers stay real, even infinite ones.
constexpr array exp_times_sin(const array& x, const array& y) {
  const array s = exp_times(x, sin(y));
  return select(logical_and(y == 0.0f, s != s), zeros_like(s), s);
}
constexpr complex_parts exp_parts(const complex_parts& z) {
  return {exp_times(z.re, cos(z.im)), exp_times_sin(z.re, z.im)};
}
/// The larger part of a root is w = sqrt((|re| + |z|) / 2), and the smaller one |im| / (2 w).
constexpr complex_parts sqrt_parts(const complex_parts& z) {
  const complex_size s(z.re, z.im);
  const array a = z.re * sign_of(z.re), b = z.im * sign_of(z.im);
  const array usable = logical_and(s.large != 0.0f, logical_not(is_infinite(s.large)));
  const array share = select(usable, a / select(usable, s.large, 1.0f), 1.0f);
  const array w = sqrt(s.large) * sqrt(0.5f * (share + sqrt(1.0f + s.ratio * s.ratio)));
  const array zero = w == 0.0f, v = select(zero, zeros_like(w), b / (2.0f * select(zero, 1.0f, w)));
  const array right = z.re >= 0.0f, long_way = is_infinite(z.im);
  const array re = select(long_way, infinite_like(w), select(right, w, v));
  const array im = select(long_way, infinite_like(w), select(right, v, w)) * sign_of(z.im);
  const array lost = logical_and(z.re != z.re, logical_not(long_way));
  return {select(lost, z.re, re), select(lost, z.re, im)};
}
constexpr complex_parts log_parts(const complex_parts& z) { return {log_of_length(z.re, z.im), angle(z)}; }
constexpr complex_parts expm1_parts(const complex_parts& z) {
  const array s = sin(0.5f * z.im), whole = exp(z.re);
  const array re = expm1(z.re) * cos(z.im) - 2.0f * s * s;  // e^x cos y - 1 without cancellation
  return {select(is_infinite(whole), exp_times(z.re, cos(z.im)), re), exp_times_sin(z.re, z.im)};
}
constexpr complex_parts log1p_parts(const complex_parts& z) {
  const array u = z.re + 1.0f;
  const complex_size s(u, z.im);
  const array near = logical_and(s.large > 0.5f, s.large < 2.0f);
  const array x = select(near, z.re, 0.0f), y = select(near, z.im, 0.0f);
  return {select(near, 0.5f * log1p(x * (2.0f + x) + y * y), log_of_length(u, z.im)), atan2(z.im, u)};
}
}  // namespace detail

/// e^re (cos im + i sin im)
/// source  jax.numpy.exp of complex numbers; and so below. A zero imaginary part counts as a positive one in all of them
///         but log, log1p, rsqrt and angle, as in XLA's
constexpr complex_parts exp(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::exp_parts(x); },
      [](const complex_parts&, const complex_parts& y) { return y; });
}
/// e^z - 1, with all digits near 0.
constexpr complex_parts expm1(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::expm1_parts(x); },
      [](const complex_parts& x, const complex_parts&) { return detail::exp_parts(x); });
}
/// log |z| + i angle(z), with imaginary parts from -pi to pi: the branch cut is the negative real axis.
constexpr complex_parts log(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::log_parts(x); },
      [](const complex_parts& x, const complex_parts&) { return reciprocal(x); });
}
/// log(1 + z), with all digits near 0.
constexpr complex_parts log1p(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::log1p_parts(x); },
      [](const complex_parts& x, const complex_parts&) { return reciprocal(x + 1.0f); });
}
constexpr complex_parts log2(const complex_parts& z) { return log(z) * array(1.4426950408889634074); }
constexpr complex_parts log10(const complex_parts& z) { return log(z) * array(0.43429448190325182765); }
/// The root with a real part that is not negative.
constexpr complex_parts sqrt(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::sqrt_parts(x); },
      [](const complex_parts&, const complex_parts& y) { return reciprocal(y * 2.0f); });
}
/// 1 / sqrt(z), where the sign of a zero imaginary part counts.
/// source  jax.lax.rsqrt
constexpr complex_parts rsqrt(const complex_parts& z) {
  const complex_parts y = reciprocal(sqrt(z));
  const array below = logical_and(logical_and(z.im == 0.0f, signbit(z.im)), z.re < 0.0f);
  return {y.re, select(below, -y.im, y.im)};
}
/// a^b = e^(b log a); 0^0 is 1, and other powers of 0 with a positive real part are 0.
/// source  jax.numpy.power
constexpr complex_parts power(const complex_parts& a, const complex_parts& b) {
  const array zero = a == array(0.0f), one = logical_and(zero, b == array(0.0f));
  const complex_parts base{select(zero, 1.0f, a.re), select(zero, 0.0f, a.im)}, y = exp(b * log(base));
  const array still = select(one, 1.0f, select(b.re > 0.0f, 0.0f, std::numeric_limits<double>::quiet_NaN()));
  return {select(zero, still, y.re), select(zero, select(logical_or(one, b.re > 0.0f), 0.0f, still), y.im)};
}
constexpr complex_parts power(const complex_parts& a, const array& b) {
  return power(a, complex_parts{b, zeros_like(b)});
}
constexpr complex_parts power(const array& a, const complex_parts& b) {
  return power(complex_parts{a, zeros_like(a)}, b);
}

}  // namespace tokamax
