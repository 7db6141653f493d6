// tokamax/lax/elementwise/trigonometric.hpp: the tangent and the angles of given sines, cosines and tangents.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/elementwise/trigonometric.cpp
#pragma once

#include <tokamax/lax/elementwise/composed.hpp>  // special
#include <tokamax/lax/elementwise/unary.hpp>     // sin, cos, sqrt

#include <limits>  // infinity

namespace tokamax {

namespace detail {
/// c[0] z^(n - 1) + ... + c[n - 1].
template <std::size_t N>
constexpr array polynomial_of(const double (&c)[N], const array& z) {
  array p = z * c[0] + c[1];
  for (std::size_t i = 2; i < N; ++i) p = p * z + c[i];
  return p;
}
/// (atan(t) / t - 1) / t^2 as a polynomial in z = t^2 for t up to tan(pi / 8), from the values at Chebyshev's points. Times
/// z, the error is 2.4e-9 for f32 and 1.8e-19 for f64.
constexpr array atan_series(const array& z) {
  constexpr double single[] = {-0.0645171886935895807, 0.107436683248300981, -0.14263949753605724, 0.199995403149579694,
                               -0.333333317604345559};
  constexpr double twice[] = {0.0162843750500433944,  -0.0345693150633260898, 0.0455154473402216165,
                              -0.0523044364068694771, 0.0587892755447380676,  -0.0666642476020052014,
                              0.0769229636804229712,  -0.0909090875325911294, 0.111111111051505879,
                              -0.142857142856597778,  0.199999999999998043,   -0.333333333333333332};
  return z.dtype() == f64 ? polynomial_of(twice, z) : polynomial_of(single, z);
}
/// The angle of the point (x, y), for x and y that are not negative: from 0 to pi / 2, or from there to pi where `left` says
/// that the point is at (-x, y).
///
///   t = low / high or (low - high) / (low + high) for the smaller and the larger of x and y, so that |t| <= tan(pi / 8)
///   angle = k pi / 4 +- atan(t), where k pi / 4 is a sum of two numbers and the first product has no error
constexpr array angle_of(const array& y, const array& x, const array& left = {}, bool both_may_be_infinite = false) {
  const array low = minimum(x, y), high = maximum(x, y), steep = y > x;
  array middle = low > high * 0.41421356237309505;
  if (both_may_be_infinite) middle = logical_or(middle, low == std::numeric_limits<double>::infinity());
  array t = select(middle, low - high, low) / select(middle, low + high, high);
  if (both_may_be_infinite) t = select(low == high, array(0.0, t.type()), t);  // and not 0 / 0
  const array z = t * t;
  array angle = t + t * (z * atan_series(z));
  array k = select(middle, array(1.0, t.type()), array(0.0, t.type()));
  k = select(steep, 2.0 - k, k);
  array down = steep;
  if (left.exists()) {
    k = select(left, 4.0 - k, k);
    down = not_equal(left, steep);
  }
  angle = select(down, -angle, angle);
  const bool wide = t.dtype() == f64;
  const double first = wide ? 0.78539812564849853515625 : 0.78515625;
  const double rest = wide ? 3.774894977445941084581988e-8 : 0.0002419133974483096156608458;
  return k * first + (k * rest + angle);
}
/// Is the sign of x minus, also that of -0?
constexpr array has_minus(const array& x) { return logical_or(x < 0.0, 1.0 / x < 0.0); }
/// The length of the other leg of the triangle whose hypotenuse is 1, for one leg |x|.
constexpr array other_leg(const array& x) { return sqrt((1.0 - x) * (1.0 + x)); }

constexpr array tan_value(const arrays& v) { return sin(v[0]) / cos(v[0]); }
constexpr array tan_slope(const arrays&, const array& y) { return 1.0 + y * y; }

constexpr array atan_value(const arrays& v) {
  const array a = abs(v[0]);
  return sign(v[0]) * angle_of(a, array(1.0, a.type()));
}
constexpr array atan_slope(const arrays& v, const array&) { return 1.0 / (1.0 + v[0] * v[0]); }

constexpr array asin_value(const arrays& v) {
  const array a = abs(v[0]);
  return sign(v[0]) * angle_of(a, other_leg(a));
}
constexpr array asin_slope(const arrays& v, const array&) { return 1.0 / other_leg(v[0]); }

constexpr array acos_value(const arrays& v) {
  const array a = abs(v[0]);
  return angle_of(other_leg(a), a, v[0] < 0.0);
}
constexpr array acos_slope(const arrays& v, const array&) { return -1.0 / other_leg(v[0]); }

constexpr array atan2_value(const arrays& v) {
  const array y = abs(v[0]), x = abs(v[1]);
  const array huge = maximum(y, x) > 0x1p100;  // there x + y may overflow, and what a quarter loses is 0 anyway
  const array scale = select(huge, array(0.25, y.type()), array(1.0, y.type()));
  const array angle = angle_of(y * scale, x * scale, has_minus(v[1]), true);
  return select(has_minus(v[0]), -angle, angle);
}
constexpr array atan2_slope_y(const arrays& v, const array&) { return v[1] / (v[0] * v[0] + v[1] * v[1]); }
constexpr array atan2_slope_x(const arrays& v, const array&) { return -v[0] / (v[0] * v[0] + v[1] * v[1]); }
}  // namespace detail

inline constexpr op tan_p = detail::special({.name = "tan",
                                             .stablehlo = "stablehlo.tan",
                                             .compose = detail::special_compose<detail::tan_value>,
                                             .vjp = detail::special_vjp<detail::tan_slope>});
inline constexpr op asin_p = detail::special({.name = "asin",
                                              .stablehlo = "chlo.asin",
                                              .compose = detail::special_compose<detail::asin_value>,
                                              .vjp = detail::special_vjp<detail::asin_slope>});
inline constexpr op acos_p = detail::special({.name = "acos",
                                              .stablehlo = "chlo.acos",
                                              .compose = detail::special_compose<detail::acos_value>,
                                              .vjp = detail::special_vjp<detail::acos_slope>});
inline constexpr op atan_p = detail::special({.name = "atan",
                                              .stablehlo = "chlo.atan",
                                              .compose = detail::special_compose<detail::atan_value>,
                                              .vjp = detail::special_vjp<detail::atan_slope>});
inline constexpr op atan2_p =
    detail::special({.name = "atan2",
                     .stablehlo = "stablehlo.atan2",
                     .compose = detail::special_compose<detail::atan2_value>,
                     .vjp = detail::special_vjp<detail::atan2_slope_y, detail::atan2_slope_x>});

// Element by element, composed in f32 or in f64. Integers become f32 first. The bounds of errors are units in the last place
// of f32.

/// The tangent of an angle in radians, within 3.5 units.
///
///   sin(x) / cos(x)
///
/// dtypes  any float; integers become f32
/// source  jax.lax.tan
constexpr array tan(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<tan_p>(), x, l);
}
/// The angle from -pi / 2 to pi / 2 with the sine x, within 3 units; NaN beyond -1 and 1.
/// source  jax.lax.asin, jax.numpy.asin
constexpr array asin(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<asin_p>(), x, l);
}
/// The angle from 0 to pi with the cosine x, within 3 units; NaN beyond -1 and 1.
/// source  jax.lax.acos, jax.numpy.acos
constexpr array acos(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<acos_p>(), x, l);
}
/// The angle from -pi / 2 to pi / 2 with the tangent x, within 2 units.
/// source  jax.lax.atan, jax.numpy.atan
constexpr array atan(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<atan_p>(), x, l);
}
/// The angle from -pi to pi of the point (x, y), within 2.5 units. Signs of zeros say on which side of an axis the point is,
/// and infinite coordinates count as equally far, as in IEEE 754. The gradient at the origin is NaN.
///
/// shapes  y, x broadcast together
/// dtypes  their promotion; integers become f32
/// errors  "atan2: shapes" if the shapes do not broadcast
/// source  jax.lax.atan2, jax.numpy.atan2
constexpr array atan2(const array& y, const array& x, source_line l = source_line::current()) {
  return detail::special_binary(described<atan2_p>(), y, x, l);
}

}  // namespace tokamax
