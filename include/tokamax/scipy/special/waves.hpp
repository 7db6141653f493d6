// tokamax/scipy/special/waves.hpp: integrals of waves: sici, fresnel.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/numpy/elementwise/exponential.hpp>      // pi
#include <tokamax/scipy/special/integrals.hpp>            // euler_gamma
#include <tokamax/transforms/control_flow/fori_loop.hpp>  // fori_loop

#include <utility>  // pair

namespace tokamax {

namespace detail {
/// The sum of (-1)^k t^(2k + first) / (2k + first)! / (step (2k + first) + 1), or / (2k + first) for a step of 0.
constexpr array wave_series(const array& t, int first, double step, int terms) {
  array term = first == 1 ? t : first == 2 ? -t * t * 0.5 : ones_like(t), sum = zeros_like(t);
  for (int k = first, i = 0; i < terms; ++i, k += 2) {
    sum = sum + term * (1.0 / (step == 0 ? k : step * k + 1));
    term = term * (t * t) * (-1.0 / ((k + 1.0) * (k + 2.0)));
  }
  return sum;
}

/// A complex number.
struct wave {
  array re, im;
};
/// 1 / (c_0 + i y - p_1 / (c_1 + i y - p_2 / ...)) from its end, where c_k = c k + 1.
template <class Product>
constexpr wave wave_fraction(const array& y, int depth, double c, const Product& product) {
  using state = std::pair<array, array>;
  const auto inverse = [](const array& re, const array& im) {
    const array norm = re * re + im * im;
    return state{re / norm, -im / norm};
  };
  const state end = fori_loop(
      0, depth,
      [&](const array& i, const state& s) {
        const array k = static_cast<double>(depth) - astype(i, y.dtype()), p = product(k);
        return inverse(c * (k - 1.0) + 1.0 - p * s.first, y - p * s.second);
      },
      inverse(full_like(y, c * depth + 1), y));
  return {end.first, end.second};
}

/// e^-ix times the fraction of E1(ix), which is -Ci(x) + i (Si(x) - pi / 2): for x above 3.
constexpr wave far_sici(const array& x) {
  const wave f = wave_fraction(x, x.dtype() == f64 ? 60 : 18, 2, [](const array& k) { return k * k; });
  const array c = cos(x), s = sin(x);
  return {c * f.re + s * f.im, c * f.im - s * f.re};
}
constexpr array sin_integral_value(const arrays& v) {
  const array x = abs(v[0]), near = x <= 3.0, infinite = x == std::numeric_limits<double>::infinity();
  const array low = wave_series(where(near, x, ones_like(x)), 1, 0, x.dtype() == f64 ? 15 : 9);
  const array high = pi / 2 + far_sici(where(logical_or(near, infinite), full_like(x, 4), x)).im;
  return sign(v[0]) * where(near, low, where(infinite, full_like(x, pi / 2), high));
}
constexpr array cos_integral_value(const arrays& v) {
  const array x = abs(v[0]), near = x <= 3.0, infinite = x == std::numeric_limits<double>::infinity();
  const array small = where(logical_and(near, x > 0.0), x, ones_like(x));
  const array low = euler_gamma + log(small) + wave_series(small, 2, 0, x.dtype() == f64 ? 15 : 9);
  const array high = -far_sici(where(logical_or(near, infinite), full_like(x, 4), x)).re;
  return where(x == 0.0, -infinity_like(x), where(near, low, where(infinite, zeros_like(x), high)));
}
constexpr array sin_integral_slope(const arrays& v, const array&) {
  const array zero = v[0] == 0.0, x = where(zero, ones_like(v[0]), v[0]);
  return where(zero, ones_like(x), sin(x) / x);
}
constexpr array cos_integral_slope(const arrays& v, const array&) { return cos(v[0]) / v[0]; }

/// C(x) + i S(x) = (1 + i) / 2 - x e^(i pi x^2 / 2) times the fraction of the error function on a diagonal: for x above 1.5.
constexpr wave far_fresnel(const array& x) {
  const array angle = pi / 2 * (x * x);
  const wave f = wave_fraction(-2.0 * angle, x.dtype() == f64 ? 45 : 13, 4,
                               [](const array& k) { return (2.0 * k - 1.0) * (2.0 * k); });
  const array c = cos(angle), s = sin(angle);
  return {0.5 - x * (c * f.re - s * f.im), 0.5 - x * (s * f.re + c * f.im)};
}
template <bool Sine>
constexpr array fresnel_value(const arrays& v) {
  const bool wide = v[0].dtype() == f64;
  const array x = abs(v[0]), near = x <= 1.5, end = x >= (wide ? 1e16 : 1e7);  // where 1/2 is reached
  const array small = where(near, x, zeros_like(x)), angle = pi / 2 * (small * small);
  const array low = small * wave_series(angle, Sine ? 1 : 0, 2, wide ? 16 : 10);
  const wave far = far_fresnel(where(logical_or(near, end), full_like(x, 2), x));
  return sign(v[0]) * where(near, low, where(end, full_like(x, 0.5), Sine ? far.im : far.re));
}
constexpr array fresnel_sin_slope(const arrays& v, const array&) { return sin(pi / 2 * (v[0] * v[0])); }
constexpr array fresnel_cos_slope(const arrays& v, const array&) { return cos(pi / 2 * (v[0] * v[0])); }
}  // namespace detail

inline constexpr op sin_integral_p = detail::special({.name = "sin_integral",
                                                      .compose = detail::special_compose<detail::sin_integral_value>,
                                                      .vjp = detail::special_vjp<detail::sin_integral_slope>});
inline constexpr op cos_integral_p = detail::special({.name = "cos_integral",
                                                      .compose = detail::special_compose<detail::cos_integral_value>,
                                                      .vjp = detail::special_vjp<detail::cos_integral_slope>});
inline constexpr op fresnel_sin_p = detail::special({.name = "fresnel_sin",
                                                     .compose = detail::special_compose<detail::fresnel_value<true>>,
                                                     .vjp = detail::special_vjp<detail::fresnel_sin_slope>});
inline constexpr op fresnel_cos_p = detail::special({.name = "fresnel_cos",
                                                     .compose = detail::special_compose<detail::fresnel_value<false>>,
                                                     .vjp = detail::special_vjp<detail::fresnel_cos_slope>});

}  // namespace tokamax

namespace tokamax::scipy::special {

/// The sine and the cosine integral of x.
struct sici_result {
  array si, ci;
};
/// si: the integral of sin(t) / t from 0 to x. ci: euler_gamma + log|x| + the integral of (cos(t) - 1) / t, which is minus
/// infinity at 0.
///
/// dtypes  any float, computed in f32, f64 in f64
/// source  jax.scipy.special.sici; Abramowitz and Stegun 5.2.14, 5.2.16 up to 3, and the fraction of E1(ix) beyond. Errors are
///         of the size of the rounding of 1
constexpr sici_result sici(const array& x, source_line l = source_line::current()) {
  return {tokamax::detail::float_unary(described<sin_integral_p>(), x, l),
          tokamax::detail::float_unary(described<cos_integral_p>(), x, l)};
}
/// The two Fresnel integrals of x.
struct fresnel_result {
  array s, c;
};
/// The integrals of sin(pi t^2 / 2) and cos(pi t^2 / 2) from 0 to x.
///
/// dtypes  any float, computed in f32, f64 in f64
/// source  jax.scipy.special.fresnel; Abramowitz and Stegun 7.3.11, 7.3.13 up to 1.5, and the fraction of the complementary
///         error function beyond. The angle is rounded, so errors grow with x, and are x times the rounding of 1
constexpr fresnel_result fresnel(const array& x, source_line l = source_line::current()) {
  return {tokamax::detail::float_unary(described<fresnel_sin_p>(), x, l),
          tokamax::detail::float_unary(described<fresnel_cos_p>(), x, l)};
}

}  // namespace tokamax::scipy::special
