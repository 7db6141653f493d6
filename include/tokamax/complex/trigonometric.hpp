// tokamax/complex/trigonometric.hpp: sines, cosines and tangents of complex numbers, hyperbolic ones too.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/complex/arithmetic.hpp>          // square
#include <tokamax/complex/holomorphic.hpp>         // holomorphic
#include <tokamax/lax/elementwise/hyperbolic.hpp>  // sinh, cosh

namespace tokamax {

namespace detail {
constexpr complex_parts sin_parts(const complex_parts& z) {
  return {product_or_zero(sin(z.re), cosh(z.im)), cos(z.re) * sinh(z.im)};
}
constexpr complex_parts cos_parts(const complex_parts& z) {
  return {cos(z.re) * cosh(z.im), -product_or_zero(sin(z.re), sinh(z.im))};
}
constexpr complex_parts sinh_parts(const complex_parts& z) {
  return {sinh(z.re) * cos(z.im), product_or_zero(sin(z.im), cosh(z.re))};
}
constexpr complex_parts cosh_parts(const complex_parts& z) {
  return {cosh(z.re) * cos(z.im), product_or_zero(sin(z.im), sinh(z.re))};
}
/// Kahan's formula with t = tan(im) and s = sinh(re). Where that overflows, the real part is 1 to all digits.
constexpr complex_parts tanh_parts(const complex_parts& z) {
  const array far = abs(z.re) > (z.dtype() == f64 ? 20.0f : 9.0f), x = select(far, zeros_like(z.re), z.re);
  const array t = tan(z.im), beta = 1.0f + t * t, s = sinh(x), rho = sqrt(1.0f + s * s), d = 1.0f + beta * s * s;
  const array little = 4.0f * sin(z.im) * cos(z.im) * exp(-2.0f * abs(z.re));
  const array im = select(far, little, t / d), one = sign_of(z.re), ends = is_infinite(z.re);
  const array re = select(far, select(im != im, im, one), beta * rho * s / d);
  return {select(ends, one, re), select(logical_or(ends, z.im == 0.0f), zeros_like(im), im)};
}
/// -i f(i z)
template <class F>
constexpr complex_parts turned(const complex_parts& z, const F& f) {
  const complex_parts y = f(complex_parts{-z.im, z.re});
  return {y.im, -y.re};
}
}  // namespace detail

/// sin(re) cosh(im) + i cos(re) sinh(im)
/// source  jax.numpy.sin of complex numbers; and so below
constexpr complex_parts sin(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::sin_parts(x); },
      [](const complex_parts& x, const complex_parts&) { return detail::cos_parts(x); });
}
constexpr complex_parts cos(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::cos_parts(x); },
      [](const complex_parts& x, const complex_parts&) { return -detail::sin_parts(x); });
}
constexpr complex_parts tan(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::turned(x, detail::tanh_parts); },
      [](const complex_parts&, const complex_parts& y) { return square(y) + 1.0f; });
}
/// sinh(re) cos(im) + i cosh(re) sin(im)
constexpr complex_parts sinh(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::sinh_parts(x); },
      [](const complex_parts& x, const complex_parts&) { return detail::cosh_parts(x); });
}
constexpr complex_parts cosh(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::cosh_parts(x); },
      [](const complex_parts& x, const complex_parts&) { return detail::sinh_parts(x); });
}
constexpr complex_parts tanh(const complex_parts& z) {
  return detail::holomorphic(
      z, [](const complex_parts& x) { return detail::tanh_parts(x); },
      [](const complex_parts&, const complex_parts& y) { return 1.0f - square(y); });
}

}  // namespace tokamax
