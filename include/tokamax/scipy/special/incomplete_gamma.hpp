// tokamax/scipy/special/incomplete_gamma.hpp: the regularized incomplete gamma functions: igamma, igammac, and their derivatives.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>                          // any
#include <tokamax/scipy/special/gamma.hpp>                 // lgamma, digamma
#include <tokamax/transforms/control_flow/while_loop.hpp>  // while_loop

#include <array>  // array

namespace tokamax {

namespace detail {

inline constexpr int most_terms =
    2000;  // of series and continued fractions, which end when no element changes any more

/// Is there an element that goes on, and is the number of steps below the limit?
constexpr array goes_on(const array& step, const array& on) { return logical_and(step < most_terms, any(on)); }

/// The sum of x^n / ((a + 1) ... (a + n)), and its derivative by a. It converges fast where x <= a, or x <= 1.
struct gamma_series {
  array sum, slope;
};
constexpr gamma_series gamma_series_of(const array& a, const array& x, const array& wanted) {
  using state = std::array<array, 7>;  // step, on, r, term, sum, slope of the term, slope of the sum
  const array one = ones_like(a), zero = zeros_like(a);
  const double eps = rounding_unit(a);
  const state start{array(0.0, {i32, false, {}}), wanted, a, one, one, zero, zero};
  const state end = while_loop([](const state& s) { return goes_on(s[0], s[1]); },
                               [&](const state& s) {
                                 const array r = s[2] + 1.0;
                                 const array slope = s[5] * (x / r) - s[3] * x / (r * r), term = s[3] * (x / r);
                                 const array sum = s[4] + term, slopes = s[6] + slope;
                                 const array more = logical_or(term > eps * sum, abs(slope) > eps * abs(slopes));
                                 const array& on = s[1];
                                 return state{s[0] + 1,
                                              logical_and(on, more),
                                              r,
                                              where(on, term, s[3]),
                                              where(on, sum, s[4]),
                                              where(on, slope, s[5]),
                                              where(on, slopes, s[6])};
                               },
                               start);
  return {end[4], end[6]};
}

/// The continued fraction of the upper function, p / q of its convergents, and its derivative by a. It is for x > 1, x >= a.
constexpr gamma_series gamma_fraction_of(const array& a, const array& x, const array& wanted) {
  // step, on, y, z, c, then p, q, dp, dq of this convergent and of the one before, the value and its derivative
  using state = std::array<array, 15>;
  const array one = ones_like(a), zero = zeros_like(a), y = 1.0 - a, z = x + y + 1.0;
  const array p = x + 1.0, q = z * x, value = p / q, slope = value * x / q;
  const double eps = rounding_unit(a);
  const state start{array(0.0, {i32, false, {}}), wanted, y, z, zero, p, q, zero, -x, one, x, zero, zero, value, slope};
  const state end = while_loop(
      [](const state& s) { return goes_on(s[0], s[1]); },
      [&](const state& s) {
        const array c = s[4] + 1.0, yy = s[2] + 1.0, zz = s[3] + 2.0, yc = yy * c;
        const array p2 = s[5] * zz - s[9] * yc, q2 = s[6] * zz - s[10] * yc;
        const array dp = s[7] * zz - s[5] - s[11] * yc + s[9] * c, dq = s[8] * zz - s[6] - s[12] * yc + s[10] * c;
        const array sound = q2 != 0.0, safe = where(sound, q2, one);
        const array next = where(sound, p2 / safe, s[13]);
        const array change = where(sound, abs((s[13] - next) / next), one);
        const array next_slope = where(sound, (dp - next * dq) / safe, s[14]);
        const array slope_change = abs(next_slope - s[14]);
        const array scale = where(abs(p2) > 1 / eps, full_like(a, eps), one);  // so that convergents do not overflow
        const array& on = s[1];
        const array more = logical_or(change > eps, slope_change > eps * abs(next_slope));
        const auto kept = [&](const array& fresh, const array& old) { return where(on, fresh, old); };
        return state{s[0] + 1,
                     logical_and(on, more),
                     yy,
                     zz,
                     c,
                     p2 * scale,
                     q2 * scale,
                     dp * scale,
                     dq * scale,
                     s[5] * scale,
                     s[6] * scale,
                     s[7] * scale,
                     s[8] * scale,
                     kept(next, s[13]),
                     kept(next_slope, s[14])};
      },
      start);
  return {end[13], end[14]};
}

/// The lower function P(a, x), the upper one, or the derivative of the lower one by a.
enum class gamma_part : std::uint8_t { lower, upper, slope_by_a };

template <gamma_part Part>
constexpr array incomplete_gamma_value(const arrays& operands) {
  const array &a = operands[0], &x = operands[1];
  const double inf = std::numeric_limits<double>::infinity();
  const array both_infinite = logical_and(a == inf, x == inf);
  const array invalid = logical_or(logical_or(x < 0.0, logical_or(a < 0.0, both_infinite)), logical_or(a != a, x != x));
  const array edge = logical_or(logical_or(x == 0.0, x == inf), logical_or(invalid, logical_or(a == 0.0, a == inf)));
  const array sa = where(edge, ones_like(a), a), sx = where(edge, ones_like(x), x);
  const array by_fraction = logical_and(sx > 1.0, sx > sa);
  const array log_scale = sa * log(sx) - sx - lgamma(sa), scale = exp(log_scale);
  const gamma_series low = gamma_series_of(sa, sx, logical_not(logical_or(edge, by_fraction)));
  const gamma_series high = gamma_fraction_of(sa, sx, logical_and(by_fraction, logical_not(edge)));
  array value, at_zero = zeros_like(a), at_infinity = ones_like(a);
  if (Part == gamma_part::slope_by_a) {
    const array below = (low.slope + low.sum * (log(sx) - digamma(sa + 1.0))) * scale / sa;
    const array above = (high.slope + high.sum * (log(sx) - digamma(sa))) * scale;
    value = where(by_fraction, -above, below);
    at_infinity = zeros_like(a);
  } else {
    const array p = low.sum * scale / sa, q = high.sum * scale;
    if (Part == gamma_part::lower) {
      value = where(by_fraction, 1.0 - q, p);
    } else {
      value = where(by_fraction, q, 1.0 - p);
      at_zero = ones_like(a);
      at_infinity = zeros_like(a);
    }
  }
  const array low_end = logical_or(x == 0.0, a == inf), high_end = logical_or(x == inf, a == 0.0);
  value = where(low_end, at_zero, where(high_end, at_infinity, value));
  return where(invalid, nan_like(a), value);
}
constexpr array igamma_slope_by_x(const arrays& x, const array&) {
  return exp((x[0] - 1.0) * log(x[1]) - x[1] - lgamma(x[0]));
}
constexpr array igammac_slope_by_x(const arrays& x, const array& y) { return -igamma_slope_by_x(x, y); }
constexpr array igamma_slope_by_a(const arrays& x, const array&);
constexpr array igammac_slope_by_a(const arrays& x, const array& y) { return -igamma_slope_by_a(x, y); }
}  // namespace detail

inline constexpr op igamma_grad_a_p =
    detail::special({.name = "igamma_grad_a",
                     .stablehlo = "chlo.igamma_grad_a",
                     .compose = detail::special_compose<detail::incomplete_gamma_value<detail::gamma_part::slope_by_a>>,
                     .vjp = detail::special_vjp<nullptr, nullptr>});
inline constexpr op igamma_p =
    detail::special({.name = "igamma",
                     .stablehlo = "chlo.igamma",
                     .compose = detail::special_compose<detail::incomplete_gamma_value<detail::gamma_part::lower>>,
                     .vjp = detail::special_vjp<detail::igamma_slope_by_a, detail::igamma_slope_by_x>});
inline constexpr op igammac_p =
    detail::special({.name = "igammac",
                     .stablehlo = "chlo.igammac",
                     .compose = detail::special_compose<detail::incomplete_gamma_value<detail::gamma_part::upper>>,
                     .vjp = detail::special_vjp<detail::igammac_slope_by_a, detail::igammac_slope_by_x>});

/// P(a, x): the integral of t^(a - 1) e^-t from 0 to x, divided by gamma(a). NaN where a or x is negative
/// or a is infinite; where a is 0 it is 1.
///
/// shapes  broadcast together
/// dtypes  any float, computed in f32, f64 in f64
/// source  jax.lax.igamma; series and continued fraction of Abramowitz and Stegun 6.5.29, 6.5.31. Errors are those of
///         x^a e^-x / gamma(a): for f32 below 2e-5 of the value up to a = 100
constexpr array igamma(const array& a, const array& x, source_line l = source_line::current()) {
  return detail::special_binary(described<igamma_p>(), a, x, l);
}
/// Q(a, x) = 1 - P(a, x), without cancellation.
/// source  jax.lax.igammac
constexpr array igammac(const array& a, const array& x, source_line l = source_line::current()) {
  return detail::special_binary(described<igammac_p>(), a, x, l);
}
/// The derivative of igamma by a.
/// errors  "igamma_grad_a: derivative"
/// source  jax.lax.igamma_grad_a
constexpr array igamma_grad_a(const array& a, const array& x, source_line l = source_line::current()) {
  return detail::special_binary(described<igamma_grad_a_p>(), a, x, l);
}
/// The derivative by a of a sample x of the gamma distribution, whose P(a, x) stays as it is.
/// source  jax.lax.random_gamma_grad
constexpr array random_gamma_grad(const array& a, const array& x, source_line l = source_line::current()) {
  return -igamma_grad_a(a, x, l) * exp(x + lgamma(a, l) - (a - 1.0) * log(x));
}

namespace detail {
constexpr array igamma_slope_by_a(const arrays& x, const array&) { return igamma_grad_a(x[0], x[1]); }
}  // namespace detail

}  // namespace tokamax
