// tokamax/complex/inverse.hpp: inverses of sines, cosines and tangents of complex numbers, hyperbolic ones too.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/complex/exponential.hpp>    // sqrt, log_of_length
#include <tokamax/complex/trigonometric.hpp>  // turned

namespace tokamax {

namespace detail {

/// What arcsines of x + i y in the first quadrant are made of.
struct arcsine_parts {
  array height;  ///< the imaginary part of the arcsine
  array base;    ///< its real part is the angle atan2(x, base), and that of the arccosine atan2(base, x)
};
/// With r and s the distances to -1 and 1, and a = (r + s) / 2: height log(a + sqrt(a^2 - 1)), and base sqrt(a^2 - x^2), both
/// written without cancellation. Far away, where squares overflow, the height is log |2 z|; near the real axis, where they
/// vanish, it is that of real arguments.
constexpr arcsine_parts arcsine_of(const array& x, const array& y, dtype type) {
  const array far = maximum(x, y) > 1e18f, flat = y < (type == f64 ? 1e-150 : 1e-18);
  const array a = select(far, 1.0f, x), b = select(logical_or(far, flat), 1.0f, y);
  const array r = abs(complex_parts{a + 1.0f, b}), s = abs(complex_parts{a - 1.0f, b}), mean = 0.5f * (r + s);
  const array of_r = b * b / (r + a + 1.0f), inside = a < 1.0f;
  const array left = select(inside, s + (1.0f - a), 1.0f), right = select(inside, 1.0f, s + (a - 1.0f));
  const array excess = 0.5f * (of_r + select(inside, b * b / left, right));  // a - 1
  array height =
      select(mean < 1.5f, log1p(excess + sqrt(excess * (mean + 1.0f))), log(mean + sqrt(mean * mean - 1.0f)));
  const array sum = mean + a;
  array base = select(inside, sqrt(0.5f * sum * (of_r + left)), b * sqrt(0.5f * (sum / (r + a + 1.0f) + sum / right)));
  // on the real axis
  const array product = (1.0f - a) * (1.0f + a), root = sqrt(select(product == 0.0f, 1.0f, abs(product)));
  const array on_branch = sqrt(select(flat, y, 1.0f)), at_one = a == 1.0f;
  height = select(flat, select(at_one, on_branch, select(inside, y / root, log1p((a - 1.0f) + root))), height);
  base = select(flat, select(at_one, on_branch, select(inside, root, y * a / root)), base);
  // far away
  height = select(far, 0.69314718055994530942 + log_of_length(x, y), height);
  height = select(logical_or(is_infinite(x), is_infinite(y)), infinite_like(x), height);
  return {height, select(far, y, base)};
}
constexpr complex_parts asin_parts(const complex_parts& z) {
  const array x = abs(z.re);
  const arcsine_parts p = arcsine_of(x, abs(z.im), z.dtype());
  return {atan2(x, p.base) * sign_of(z.re), p.height * sign_of(z.im)};
}
constexpr complex_parts acos_parts(const complex_parts& z) {
  const arcsine_parts p = arcsine_of(abs(z.re), abs(z.im), z.dtype());
  return {atan2(p.base, z.re), -p.height * sign_of(z.im)};
}
constexpr complex_parts asinh_parts(const complex_parts& z) {
  const array y = abs(z.im);
  const arcsine_parts p = arcsine_of(y, abs(z.re), z.dtype());
  return {p.height * sign_of(z.re), atan2(y, p.base) * sign_of(z.im)};
}
constexpr complex_parts acosh_parts(const complex_parts& z) {
  const complex_parts y = acos_parts(z);
  return {abs(y.im), y.re * sign_of(z.im)};
}
/// 1/4 log(((1 + x)^2 + y^2) / ((1 - x)^2 + y^2)), and half of the angle of (1 - |z|^2) + 2 i y. Far away it is 1 / z.
constexpr complex_parts atanh_parts(const complex_parts& z) {
  const array x = abs(z.re), y = abs(z.im), large = maximum(x, y), far = large > 1e9f;
  const array a = select(far, 0.0f, x), b = select(far, 1.0f, y);
  const array near = 0.25f * log1p(4.0f * a / ((1.0f - a) * (1.0f - a) + b * b));
  const array turn = 0.5f * atan2(2.0f * b, (1.0f - a) * (1.0f + a) - b * b);
  const array half_pi = full_like(x, 1.57079632679489661923);
  return {select(far, reciprocal(complex_parts{x, y}).re, near) * sign_of(z.re),
          copysign(select(far, select(large != large, large, half_pi), turn), z.im)};
}
/// 1 / sqrt(1 - z^2) and its relatives.
constexpr complex_parts root_of_difference(const complex_parts& z) {
  return sqrt_parts(1.0f - z) * sqrt_parts(1.0f + z);
}

}  // namespace detail

/// The angle whose sine is z. The branch cuts are the real axis beyond -1 and 1.
/// source  Hull, Fairgrieve and Tang 1997; jax.numpy.arcsin of complex numbers, and so below
constexpr complex_parts asin(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::asin_parts(x); },
      [](const complex_parts& x, const complex_parts&) { return reciprocal(detail::root_of_difference(x)); });
}
constexpr complex_parts acos(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::acos_parts(x); },
      [](const complex_parts& x, const complex_parts&) { return -reciprocal(detail::root_of_difference(x)); });
}
/// The angle whose tangent is z. The branch cuts are the imaginary axis beyond -i and i.
constexpr complex_parts atan(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::turned(x, detail::atanh_parts); },
      [](const complex_parts& x, const complex_parts&) { return reciprocal(1.0f + square(x)); });
}
/// The branch cuts are the imaginary axis beyond -i and i.
constexpr complex_parts asinh(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::asinh_parts(x); },
      [](const complex_parts& x, const complex_parts&) {
        return reciprocal(detail::root_of_difference(complex_parts{-x.im, x.re}));
      });
}
/// The branch cut is the real axis below 1.
constexpr complex_parts acosh(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::acosh_parts(x); },
      [](const complex_parts& x, const complex_parts&) {
        return reciprocal(detail::sqrt_parts(x - 1.0f) * detail::sqrt_parts(x + 1.0f));
      });
}
/// The branch cuts are the real axis beyond -1 and 1.
constexpr complex_parts atanh(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::atanh_parts(x); },
      [](const complex_parts& x, const complex_parts&) { return reciprocal(1.0f - square(x)); });
}
constexpr complex_parts arcsin(const complex_parts& z) { return asin(z); }
constexpr complex_parts arccos(const complex_parts& z) { return acos(z); }
constexpr complex_parts arctan(const complex_parts& z) { return atan(z); }
constexpr complex_parts arcsinh(const complex_parts& z) { return asinh(z); }
constexpr complex_parts arccosh(const complex_parts& z) { return acosh(z); }
constexpr complex_parts arctanh(const complex_parts& z) { return atanh(z); }

}  // namespace tokamax
