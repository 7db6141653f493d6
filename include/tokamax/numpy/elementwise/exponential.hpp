// tokamax/numpy/elementwise/exponential.hpp: logarithms to other bases, hypot, angles in degrees, and sinc.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/elementwise.cpp
#pragma once

#include <tokamax/lax/elementwise/logaddexp.hpp>     // logaddexp
#include <tokamax/numpy/elementwise/predicates.hpp>  // isinf

namespace tokamax {

namespace detail {
inline constexpr double pi = 3.14159265358979323846, ln_2 = 0.693147180559945309417, ln_10 = 2.30258509299404568402;
}  // namespace detail

/// Logarithms to the bases 2 and 10.
///
/// shapes  any -> the same
/// dtypes  floats; integers become f32
/// source  jax.numpy.log2, log10
constexpr array log2(const array& x, source_line l = source_line::current()) {
  return detail::rounded_once(detail::in_floats(x), [&](const array& v) {
    return log(v, l) / located(detail::number_like(v, detail::ln_2), l);
  });
}
constexpr array log10(const array& x, source_line l = source_line::current()) {
  return detail::rounded_once(detail::in_floats(x), [&](const array& v) {
    return log(v, l) / located(detail::number_like(v, detail::ln_10), l);
  });
}

/// `power` by its second name.
/// source  jax.numpy.pow
constexpr array pow(const array& x, const array& y, source_line l = source_line::current()) { return power(x, y, l); }

/// log2(2^x + 2^y), without overflow.
/// source  jax.numpy.logaddexp2
constexpr array logaddexp2(const array& x, const array& y, source_line l = source_line::current()) {
  const auto [a, b] = detail::operand_pair(described<logaddexp_p>(), x, y, l);
  return detail::rounded_once(a, b, [&](const array& u, const array& v) {
    const array base = detail::number_like(u, detail::ln_2);
    return logaddexp(u * base, v * base, l) / base;
  });
}

/// sqrt(x^2 + y^2), without overflow; infinite where one of them is.
///
/// shapes  x, y broadcast together
/// dtypes  their promotion; integers become f32
/// source  jax.numpy.hypot
constexpr array hypot(const array& x, const array& y, source_line l = source_line::current()) {
  const auto [first, second] = detail::operand_pair(described<max_p>(), x, y, l);
  return detail::rounded_once(first, second, [](const array& u, const array& v) {
    const array a = abs(u), b = abs(v), high = maximum(a, b), low = minimum(a, b);
    const array divisor = select(high == 0.0, ones_like(high), high);
    const array ratio = low / divisor, r = high * sqrt(1.0 + ratio * ratio);
    return select(logical_or(isinf(a), isinf(b)), full_like(high, detail::infinity), select(high == 0.0, high, r));
  });
}

/// x to the power y, computed in floats.
/// source  jax.numpy.float_power
constexpr array float_power(const array& x, const array& y, source_line l = source_line::current()) {
  const auto [a, b] = detail::operand_pair(described<pow_p>(), x, y, l);
  return power(a, b, l);
}

/// Degrees as radians, and radians as degrees.
/// source  jax.numpy.deg2rad, radians, rad2deg, degrees
constexpr array deg2rad(const array& given, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  return x * located(detail::number_like(x, detail::pi / 180), l);
}
constexpr array rad2deg(const array& given, source_line l = source_line::current()) {
  const array x = detail::in_floats(given);
  return x * located(detail::number_like(x, 180 / detail::pi), l);
}
constexpr array radians(const array& x, source_line l = source_line::current()) { return deg2rad(x, l); }
constexpr array degrees(const array& x, source_line l = source_line::current()) { return rad2deg(x, l); }

/// sin(pi x) / (pi x), and 1 at 0, where a polynomial of the fourth degree gives the derivatives.
/// source  jax.numpy.sinc
constexpr array sinc(const array& given, source_line l = source_line::current()) {
  return detail::rounded_once(detail::in_floats(given), [&](const array& x) {
    const array at_zero = x == located(0.0, l), angle = x * detail::number_like(x, detail::pi);
    const array divisor = select(at_zero, ones_like(angle), angle), squared = angle * angle;
    const array near = 1.0 - squared * (1.0 / 6) + squared * squared * (1.0 / 120);
    return select(at_zero, near, sin(divisor) / divisor);
  });
}

}  // namespace tokamax
