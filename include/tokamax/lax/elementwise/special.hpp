// tokamax/lax/elementwise/special.hpp: fused multiply-add, the inverse error function and the normal distribution.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/unary.hpp>  // float_function, exp

#include <cmath>        // fma, log1p
#include <type_traits>  // is_same_v

namespace tokamax {

namespace scalar_math {
using std::fma;
}  // namespace scalar_math

constexpr array fma(const array& a, const array& b, const array& c, source_line l = source_line::current());

struct fma_fn {
  template <class V>
  static constexpr V apply(V a, V b, V c) {
    using namespace scalar_math;
    return fma(a, b, c);
  }
};
inline constexpr op fma_p = elementwise<fma_fn, 3>({
    .name = "fma",
    .stablehlo = "tokamax.fma",
    .dtypes = accepts::floating,
    .cost = {.flops = 2},
    .vjp = [](const call& c) -> arrays {
      return {c.needs(0) ? c.ct() * c[1] : array(), c.needs(1) ? c.ct() * c[0] : array(), c.ct()};
    },
    .kernels = kernels_of<fma_p>,
});
template <>
struct element_of<fma_p> : fma_fn {};

/// a * b + c with one rounding.
///
/// shapes  broadcast together
/// dtypes  floating; bf16 rounds the result
/// source  the fma of C and C++
constexpr array fma(const array& a, const array& b, const array& c, source_line l) {
  array x[3] = {a, b, c};
  detail::unify(described<fma_p>(), x, l);
  return bind(described<fma_p>(), {x[0], x[1], x[2]}, words{}, l);
}

namespace detail {
/// c[0] x^(n-1) + ... + c[n-1].
template <std::size_t N>
constexpr double horner(const double (&c)[N], double x) {
  double p = c[0];
  for (std::size_t i = 1; i < N; ++i) p = p * x + c[i];
  return p;
}
/// The inverse error function in double: three polynomials, for w = -log(1 - x^2) below 6.25, below 16 and beyond.
inline double erf_inv_f64(double x) {
  constexpr double middle[] = {
      -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,  1.115787767802518096e-17,
      -1.333171662854620906e-16,  2.0972767875968561637e-17,  6.6376381343583238325e-15,  -4.0545662729752068639e-14,
      -8.1519341976054721522e-14, 2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
      1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
      -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352,   -0.00074070253416626697512,
      -0.0060336708714301490533,  0.24015818242558961693,     1.6536545626831027356};
  constexpr double outer[] = {
      2.2137376921775787049e-09,  9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
      1.5027403968909827627e-06,  -4.013867526981545969e-06, 2.9234449089955446044e-06,  1.2475304481671778723e-05,
      -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05,  -0.0003550375203628474796,
      0.00095328937973738049703,  -0.0016882755560235047313, 0.0024914420961078508066,   -0.0037512085075692412107,
      0.005370914553590063617,    1.0052589676941592334,     3.0838856104922207635};
  constexpr double tail[] = {-2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
                             -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
                             2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
                             -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
                             7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
                             1.0103004648645343977,      4.8499064014085844221};
  const double end = 1 - std::fabs(x);  // 0 at both ends, where the result is infinite
  if (end == 0) return x / end;
  const double w = -std::log1p(-x * x);
  if (w < 6.25) return horner(middle, w - 3.125) * x;
  return (w < 16 ? horner(outer, std::sqrt(w) - 3.25) : horner(tail, std::sqrt(w) - 5)) * x;
}
}  // namespace detail

/// Two polynomials in w = -log(1 - x^2), one for the middle and one for the tails. Constants and fused steps are those of
/// XLA, so that normal samples agree with JAX.
struct erf_inv_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    if constexpr (std::is_same_v<V, double>) return detail::erf_inv_f64(x);
    constexpr float middle[] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                                -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
    constexpr float tail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                              -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
    const V w = -log1p(-(x * x));
    const auto inside = w < V(5);
    const V t = select(inside, w - V(2.5f), sqrt(w) - V(3));
    V p = select(inside, V(middle[0]), V(tail[0]));
    for (int i = 1; i < 9; ++i) p = fma(p, t, select(inside, V(middle[i]), V(tail[i])));
    const V end = V(1) - abs(x);  // 0 at both ends, where the result is infinite
    return select(end == V(0), x / end, p * x);
  }
};
inline constexpr op erf_inv_p = detail::float_function<erf_inv_fn>({
    .name = "erf_inv",
    .stablehlo = "tokamax.erf_inv",
    .cost = {.flops = 37, .transcendentals = 2},
    .vjp = [](const call& c) -> arrays {
      return detail::chain_in_f32(c, c.out(), [](const array& y) { return exp(y * y) * 0.8862269254527580; });
    },
    .kernels = kernels_of<erf_inv_p>,
});
template <>
struct element_of<erf_inv_p> : erf_inv_fn {};

struct normal_cdf_fn {
  template <class V>
  static V apply(V x) {
    using namespace scalar_math;
    return V(0.5) * erfc(x * V(-0.70710678118654752));
  }
};
inline constexpr op normal_cdf_p = detail::float_function<normal_cdf_fn>({
    .name = "normal_cdf",
    .stablehlo = "tokamax.normal_cdf",
    .cost = {.flops = 2, .transcendentals = 1},
    .vjp = [](const call& c) -> arrays {
      return detail::chain_in_f32(c, c[0], [](const array& x) { return exp(x * x * -0.5) * 0.3989422804014327; });
    },
    .kernels = kernels_of<normal_cdf_p>,
});
template <>
struct element_of<normal_cdf_p> : normal_cdf_fn {};

/// The probability that a standard normal variable is below x, without cancellation: (1 + erf(x / sqrt(2))) / 2.
/// source  jax.scipy.special.ndtr
constexpr array normal_cdf(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<normal_cdf_p>(), x, l);
}

/// The x' with erf(x') = x: infinite at -1 and 1, NaN outside.
/// dtypes  any float, computed in f32, f64 in f64
/// source  M. Giles, "Approximating the erfinv function"; jax.lax.erf_inv
constexpr array erf_inv(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<erf_inv_p>(), x, l);
}

}  // namespace tokamax
