// tokamax/lax/special.hpp: fused multiply-add, the inverse error function and the normal distribution.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/unary.hpp>  // float_function, exp

#include <cmath>  // fma

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
  detail::unify(fma_p, x, l);
  return bind(fma_p, {x[0], x[1], x[2]}, words{}, l);
}

/// Two polynomials in w = -log(1 - x^2), one for the middle and one for the tails. Constants and fused steps are those of
/// XLA, so that normal samples agree with JAX.
struct erf_inv_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
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
  return detail::float_unary(normal_cdf_p, x, l);
}

/// The x' with erf(x') = x: infinite at -1 and 1, NaN outside.
/// source  M. Giles, "Approximating the erfinv function"; jax.lax.erf_inv
constexpr array erf_inv(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(erf_inv_p, x, l);
}

}  // namespace tokamax
