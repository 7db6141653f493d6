// tokamax/scipy/special/bessel.hpp: Bessel functions of the first kind, and modified ones: bessel_jn, bessel_i0e, bessel_i1e.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/special.cpp
#pragma once

#include <tokamax/scipy/special/special_op.hpp>      // special
#include <tokamax/transforms/control_flow/scan.hpp>  // scan

#include <array>    // array
#include <utility>  // pair

namespace tokamax {

namespace detail {

// Coefficients of Chebyshev polynomials: of e^-x I0(x) and e^-x I1(x) / x in x / 4 - 1 for x below 8, and of sqrt(x) e^-x I0(x)
// and sqrt(x) e^-x I1(x) in 16 / x - 1 beyond.
inline constexpr double bessel_i0_near[] = {
    0.33839763720473798,    -0.30468267234319835,    0.17162090152220871,    -0.094901097048047597,
    0.049305284239670587,   -0.023737414805899394,   0.010546460394594977,   -0.0043243099950505282,
    0.001639475616941285,   -0.00057637557453853465, 0.00018850288509574044, -5.7541950100505889e-05,
    1.6448448070703336e-05, -4.4167383585680398e-06, 1.1173875390790844e-06, -2.6707938513670373e-07,
    6.0469950106112332e-08, -1.3000250108641254e-08, 2.659823648554216e-09,  -5.1897934838507358e-10,
    9.6758044909606155e-11, -1.7268297902717222e-11, 2.9547503332949533e-12, -4.8552828424419658e-13,
    7.668643497993344e-14,  -1.1658451981588769e-14, 1.6775469902086115e-15, -2.098321516541546e-16};
inline constexpr double bessel_i0_far[] = {0.40224520550705445,     0.0033691164782556982,   6.8897583469151874e-05,
                                           2.8913705208566397e-06,  2.048918588859472e-07,   2.2666689938333206e-08,
                                           3.3962320333813523e-09,  4.9406025937059896e-10,  1.188913301142236e-11,
                                           -3.1499163277715069e-11, -1.3215846195180348e-11, -1.794031589952283e-12,
                                           7.1799344247835968e-13,  3.8522518508443684e-13,  1.5396572905501672e-14,
                                           -4.1400216588272091e-14, -9.6056496090568539e-15, 3.7658764995285312e-15,
                                           1.7585932710062479e-15,  -2.4646951146678477e-16, -3.3084646133829665e-16};
inline constexpr double bessel_i1_near[] = {
    0.12629359322181682,    -0.17641651835783401,    0.10264365868984707,    -0.05294598120809494,
    0.02472644903062645,    -0.010564084894626161,   0.0041564229443128778,  -0.0015135724506312265,
    0.00051228595616854681, -0.00016176081582586766, 4.78156510754435e-05,   -1.3273163655878606e-05,
    3.4702513081238951e-06, -8.5687202652229286e-07, 2.0032947532971911e-07, -4.4450591157596532e-08,
    9.381537324354428e-09,  -1.8872497462019134e-09, 3.6255898755443994e-10, -6.6634792128539286e-11,
    1.1736161313613547e-11, -1.9839874187965736e-12, 3.2222835510964387e-13, -5.0352638725215115e-14,
    7.5585371295261436e-15, -1.0895451207915131e-15, 1.3267165144270621e-16};
inline constexpr double bessel_i1_far[] = {0.38928811750914011,     -0.0097610974913614965,  -0.00011058893876262133,
                                           -3.8825648088902656e-06, -2.5122362386165163e-07, -2.6314688454931457e-08,
                                           -3.8353803777368968e-09, -5.5897432904572499e-10, -1.8974981585984097e-11,
                                           3.2526039639435569e-11,  1.4125784986163127e-11,  2.0357537877657704e-12,
                                           -7.1987416028207465e-13, -4.0840886228465932e-13, -2.1018742302203463e-14,
                                           4.2823522505841541e-14,  1.0373923942097462e-14,  -3.8613556796462946e-15,
                                           -1.9051427102567686e-15, 4.1744385725905888e-16,  2.509104035652854e-16};

/// The sum of c[k] T_k(t) by Clenshaw's recurrence. Coefficients that f32 does not see are left out for it.
template <std::size_t N>
constexpr array chebyshev(const double (&c)[N], const array& t) {
  array b = zeros_like(t), before = b;
  for (std::size_t k = N - 1; k > 0; --k) {
    if (t.dtype() != f64 && c[k] < 1e-9 && c[k] > -1e-9) continue;
    const array next = 2.0 * t * b - before + c[k];
    before = b;
    b = next;
  }
  return t * b - before + c[0];
}
constexpr array bessel_i0e_value(const arrays& operands) {
  const array x = abs(operands[0]), near = x <= 8.0;
  const array low = chebyshev(bessel_i0_near, where(near, x, zeros_like(x)) * 0.25 - 1.0);
  const array big = where(near, full_like(x, 8), x);
  return where(near, low, chebyshev(bessel_i0_far, 16.0 / big - 1.0) / sqrt(big));
}
constexpr array bessel_i1e_value(const arrays& operands) {
  const array x = abs(operands[0]), near = x <= 8.0;
  const array low = x * chebyshev(bessel_i1_near, where(near, x, zeros_like(x)) * 0.25 - 1.0);
  const array big = where(near, full_like(x, 8), x);
  return sign(operands[0]) * where(near, low, chebyshev(bessel_i1_far, 16.0 / big - 1.0) / sqrt(big));
}
constexpr array bessel_i0e_slope(const arrays& x, const array& y);
constexpr array bessel_i1e_slope(const arrays& x, const array& y);
}  // namespace detail

inline constexpr op bessel_i0e_p = detail::special({.name = "bessel_i0e",
                                                    .stablehlo = "chlo.bessel_i0e",
                                                    .compose = detail::special_compose<detail::bessel_i0e_value>,
                                                    .vjp = detail::special_vjp<detail::bessel_i0e_slope>});
inline constexpr op bessel_i1e_p = detail::special({.name = "bessel_i1e",
                                                    .stablehlo = "chlo.bessel_i1e",
                                                    .compose = detail::special_compose<detail::bessel_i1e_value>,
                                                    .vjp = detail::special_vjp<detail::bessel_i1e_slope>});

/// e^-|x| I0(x), where I0 is the modified Bessel function of order 0.
///
/// dtypes  any float, computed in f32, f64 in f64; integers become f32
/// source  jax.lax.bessel_i0e. Errors of f32 are below 4e-7 of the value, those of f64 below 2e-15
constexpr array bessel_i0e(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<bessel_i0e_p>(), x, l);
}
/// e^-|x| I1(x), of order 1.
/// source  jax.lax.bessel_i1e. Errors of f32 are below 1e-6 of the value, those of f64 below 4e-15
constexpr array bessel_i1e(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<bessel_i1e_p>(), x, l);
}

namespace detail {
constexpr array bessel_i0e_slope(const arrays& x, const array& y) { return bessel_i1e(x[0]) - sign(x[0]) * y; }
/// I1' = I0 - I1 / x, which is 1/2 at 0.
constexpr array bessel_i1e_slope(const arrays& x, const array& y) {
  const array at_zero = x[0] == 0.0, safe = where(at_zero, ones_like(x[0]), x[0]);
  return where(at_zero, full_like(x[0], 0.5), bessel_i0e(safe) - y * (sign(safe) + 1.0 / safe));
}
}  // namespace detail

}  // namespace tokamax

namespace tokamax::scipy::special {

/// e^-|x| I(x) and I(x) of the modified Bessel functions of order 0 and 1.
/// source  jax.scipy.special.i0e, i0, i1e, i1
constexpr array i0e(const array& x, source_line l = source_line::current()) { return bessel_i0e(x, l); }
constexpr array i1e(const array& x, source_line l = source_line::current()) { return bessel_i1e(x, l); }
constexpr array i0(const array& x, source_line l = source_line::current()) { return exp(abs(x)) * bessel_i0e(x, l); }
constexpr array i1(const array& x, source_line l = source_line::current()) { return exp(abs(x)) * bessel_i1e(x, l); }

/// J_0(z), ..., J_v(z), the Bessel functions of whole order, by Miller's recurrence from `steps` downward.
///
/// With J_k = (z / 2)^k / k! h_k it is h_(k - 1) = h_k - (z / 2)^2 / (k (k + 1)) h_(k + 1), which neither overflows nor divides
/// by z, and the sum J_0 + 2 J_2 + 2 J_4 + ... is 1.
///
/// shapes  z [...] -> [v + 1, ...]
/// dtypes  any float, computed in f32, f64 in f64
/// errors  "bessel_jn: order" if v is negative or above `steps`
/// source  jax.scipy.special.bessel_jn, which gives NaN for small z. 50 steps do for |z| up to 25
constexpr array bessel_jn(const array& z, int v, int steps = 50, source_line l = source_line::current()) {
  const array given = tokamax::detail::in_floats(z), half = astype(given, carrying(given.dtype()), l) * 0.5;
  if (v < 0 || v > steps) {
    reject(z, l, "bessel_jn: order", message() << v, message("0 to ") << steps << ", the number of steps");
    return z;
  }
  using state =
      std::array<array, 3>;  // h of the order above, h, and the sum from this order on, in units of (z / 2)^k / k!
  const array one = ones_like(half), even = full_like(half, steps % 2 == 0 ? 2 : 0);
  const array start = even + half * ((steps % 2 == 0 ? 0.0 : 2.0) / (steps + 1.0));
  const auto down = [&](const state& s, const array& i) {
    const array k = i + 1.0, below = s[1] - half * half / (k * (k + 1.0)) * s[0];
    const array twice = where(i - 2.0 * floor(i * 0.5) == 0.0, below * 2.0, zeros_like(below));
    return std::pair<state, array>{state{s[1], below, twice + half / k * s[2]}, below};
  };
  const auto [end, all] = scan(down, state{one, one, start}, iota(half.dtype(), {steps}, 0), {.reverse = true}, l);
  const array total = end[2] - end[1];  // J_0 counts once
  array power = one / total;
  arrays rows;
  for (int k = 0; k <= v; ++k) {
    const array h = k == steps ? one : squeeze(slice_in_dim(all, k, k + 1, 0, l), 0, l);
    rows.push_back(expand_dims(power * h, 0, l));
    power = power * half / (k + 1.0);
  }
  return astype(concatenate(rows, 0, l), given.dtype(), l);
}

}  // namespace tokamax::scipy::special
