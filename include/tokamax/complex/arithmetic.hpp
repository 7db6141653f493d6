// tokamax/complex/arithmetic.hpp: squares, reciprocals, signs and tests of complex numbers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/lax/fourier/complex_parts.hpp>     // complex_parts
#include <tokamax/lax/stop_gradient.hpp>             // stop_gradient
#include <tokamax/numpy/elementwise/parts.hpp>       // copysign
#include <tokamax/numpy/elementwise/predicates.hpp>  // isnan, isinf

#include <limits>  // quiet_NaN, infinity

namespace tokamax {

/// The complex number of each real one.
constexpr complex_parts as_complex(const array& x) { return {x, zeros_like(x)}; }

/// z z, as (re - im)(re + im) + 2 i re im.
/// source  jax.numpy.square of complex numbers; and so below
constexpr complex_parts square(const complex_parts& z) {
  const array re = (z.re - z.im) * (z.re + z.im), im = z.re * z.im;
  const array even = logical_and(abs(z.re) == abs(z.im), re != re), finite = isfinite(z.re);
  return {select(logical_and(even, finite), zeros_like(re), re), im + im};
}
/// 1 / z. That of zero has an infinite real part and NaN as imaginary part; that of an infinite number is zero.
constexpr complex_parts reciprocal(const complex_parts& z) {
  const array size = maximum(abs(z.re), abs(z.im));
  const array zero = size == 0.0f, infinite = logical_or(isinf(z.re), isinf(z.im)),
              usual = logical_not(logical_or(zero, infinite));
  const array scale = stop_gradient(select(usual, size, ones_like(size)));
  const array re = select(usual, z.re, ones_like(z.re)), im = select(usual, z.im, zeros_like(z.im));
  const array u = re / scale, v = im / scale, squared = (u * u + v * v) * scale, none = zeros_like(size);
  const array pole = copysign(full_like(size, std::numeric_limits<double>::infinity()), z.re);
  return {select(usual, u / squared, select(zero, pole, none)),
          select(usual, -v / squared, select(zero, full_like(size, std::numeric_limits<double>::quiet_NaN()), none))};
}
/// z / |z|; 0 of 0.
constexpr complex_parts sign(const complex_parts& z) {
  const array length = abs(z), zero = length == 0.0f, divisor = select(zero, 1.0f, length);
  return {z.re / divisor, z.im / divisor};
}
constexpr complex_parts positive(const complex_parts& z) { return z; }
constexpr complex_parts negative(const complex_parts& z) { return -z; }
constexpr complex_parts conjugate(const complex_parts& z) { return conj(z); }

/// Is one of the parts NaN (infinite)? Are both finite? Is the imaginary part not zero (zero)?
constexpr array isnan(const complex_parts& z) { return logical_or(isnan(z.re), isnan(z.im)); }
constexpr array isinf(const complex_parts& z) { return logical_or(isinf(z.re), isinf(z.im)); }
constexpr array isfinite(const complex_parts& z) { return logical_and(isfinite(z.re), isfinite(z.im)); }
constexpr array iscomplex(const complex_parts& z) { return z.im != zeros_like(z.im); }
constexpr array isreal(const complex_parts& z) { return z.im == zeros_like(z.im); }

/// Complex numbers with one length and these angles: r e^(i angle).
constexpr complex_parts polar(const array& length, const array& angle) {
  return {length * cos(angle), length * sin(angle)};
}

}  // namespace tokamax
