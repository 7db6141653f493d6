// tokamax/lax/elementwise/unary.hpp: elementary functions of one floating-point argument.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/arithmetic.hpp>     // operators for the derivative rules
#include <tokamax/lax/elementwise/integer_power.hpp>  // integer_power

namespace tokamax {

constexpr array exp(const array& x, source_line l = source_line::current());
constexpr array sin(const array& x, source_line l = source_line::current());
constexpr array cos(const array& x, source_line l = source_line::current());

namespace detail {
template <class F>
constexpr op float_function(op o) {
  o.dtypes = accepts::floating;
  return elementwise<F, 1>(o);
}
}  // namespace detail

/// e^x. It is its own derivative.
struct exp_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return exp(x);
  }
};
inline constexpr op exp_p = detail::float_function<exp_fn>({
    .name = "exp",
    .stablehlo = "stablehlo.exponential",
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays { return c.ct() * c.out(); },
    .kernels = kernels_of<exp_p>,
});
template <>
struct element_of<exp_p> : exp_fn {};

/// e^x - 1 with the derivative e^x, which is the result plus 1.
struct expm1_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return expm1(x);
  }
};
inline constexpr op expm1_p = detail::float_function<expm1_fn>({
    .name = "expm1",
    .stablehlo = "stablehlo.exponential_minus_one",
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays { return c.ct() * (c.out() + 1.0); },
    .kernels = kernels_of<expm1_p>,
});
template <>
struct element_of<expm1_p> : expm1_fn {};

/// The natural logarithm, with the derivative 1 / x.
struct log_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return log(x);
  }
};
inline constexpr op log_p = detail::float_function<log_fn>({
    .name = "log",
    .stablehlo = "stablehlo.log",
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays { return c.ct() / c[0]; },
    .kernels = kernels_of<log_p>,
});
template <>
struct element_of<log_p> : log_fn {};

/// log(1 + x), with the derivative 1 / (1 + x).
struct log1p_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return log1p(x);
  }
};
inline constexpr op log1p_p = detail::float_function<log1p_fn>({
    .name = "log1p",
    .stablehlo = "stablehlo.log_plus_one",
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays { return c.ct() / (c[0] + 1.0); },
    .kernels = kernels_of<log1p_p>,
});
template <>
struct element_of<log1p_p> : log1p_fn {};

/// The square root r, with the derivative 1 / (2 r).
struct sqrt_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return sqrt(x);
  }
};
inline constexpr op sqrt_p = detail::float_function<sqrt_fn>({
    .name = "sqrt",
    .stablehlo = "stablehlo.sqrt",
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays { return c.ct() * 0.5 / c.out(); },
    .kernels = kernels_of<sqrt_p>,
});
template <>
struct element_of<sqrt_p> : sqrt_fn {};

/// 1 / sqrt(x), with the derivative -r / (2 x) of the result r.
struct rsqrt_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return V(1) / sqrt(x);
  }
};
inline constexpr op rsqrt_p = detail::float_function<rsqrt_fn>({
    .name = "rsqrt",
    .stablehlo = "stablehlo.rsqrt",
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays { return c.ct() * (c.out() / c[0] * -0.5); },
    .kernels = kernels_of<rsqrt_p>,
});
template <>
struct element_of<rsqrt_p> : rsqrt_fn {};

/// The hyperbolic tangent t, with the derivative (1 - t)(1 + t), which keeps its digits where t is near 1.
struct tanh_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return tanh(x);
  }
};
inline constexpr op tanh_p = detail::float_function<tanh_fn>({
    .name = "tanh",
    .stablehlo = "stablehlo.tanh",
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays { return c.ct() * ((1.0 - c.out()) * (1.0 + c.out())); },
    .kernels = kernels_of<tanh_p>,
});
template <>
struct element_of<tanh_p> : tanh_fn {};

/// s = 1 / (1 + e^-x), with the derivative s (1 - s).
struct logistic_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return V(1) / (V(1) + exp(-x));
  }
};
inline constexpr op logistic_p = detail::float_function<logistic_fn>({
    .name = "logistic",
    .stablehlo = "stablehlo.logistic",
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays { return c.ct() * (c.out() * (1.0 - c.out())); },
    .kernels = kernels_of<logistic_p>,
});
template <>
struct element_of<logistic_p> : logistic_fn {};

/// The sine of an angle in radians, with the derivative cos(x).
struct sin_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return sin(x);
  }
};
inline constexpr op sin_p = detail::float_function<sin_fn>({
    .name = "sin",
    .stablehlo = "stablehlo.sine",
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays { return c.ct() * cos(c[0]); },
    .kernels = kernels_of<sin_p>,
});
template <>
struct element_of<sin_p> : sin_fn {};

/// The cosine of an angle in radians, with the derivative -sin(x).
struct cos_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return cos(x);
  }
};
inline constexpr op cos_p = detail::float_function<cos_fn>({
    .name = "cos",
    .stablehlo = "stablehlo.cosine",
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays { return -(c.ct() * sin(c[0])); },
    .kernels = kernels_of<cos_p>,
});
template <>
struct element_of<cos_p> : cos_fn {};

namespace detail {
/// The cotangent of a function with the derivative d. It is computed in f32 at least, because constants in bf16 would lose
/// most of their digits.
template <class D>
constexpr arrays chain_in_f32(const call& c, const array& at, const D& d) {
  const dtype wide = carrying(c.ct().dtype());
  return astype(astype(c.ct(), wide) * d(astype(at, wide)), c.ct().dtype());
}
}  // namespace detail

/// The error function, with the derivative 2 / sqrt(pi) e^(-x^2).
struct erf_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return erf(x);
  }
};
inline constexpr op erf_p = detail::float_function<erf_fn>({
    .name = "erf",
    .stablehlo = "tokamax.erf",
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays {
      return detail::chain_in_f32(c, c[0], [](const array& x) { return exp(-(x * x)) * 1.1283791670955126; });
    },
    .kernels = kernels_of<erf_p>,
});
template <>
struct element_of<erf_p> : erf_fn {};

/// The largest integer that is not above x.
struct floor_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return floor(x);
  }
};
inline constexpr op floor_p = detail::float_function<floor_fn>({
    .name = "floor",
    .stablehlo = "stablehlo.floor",
    .vjp = detail::no_gradient,
    .kernels = kernels_of<floor_p>,
});
template <>
struct element_of<floor_p> : floor_fn {};

/// The smallest integer that is not below x.
struct ceil_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return ceil(x);
  }
};
inline constexpr op ceil_p = detail::float_function<ceil_fn>({
    .name = "ceil",
    .stablehlo = "stablehlo.ceil",
    .vjp = detail::no_gradient,
    .kernels = kernels_of<ceil_p>,
});
template <>
struct element_of<ceil_p> : ceil_fn {};

/// The nearest integer. Halves go to the even one.
struct round_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace scalar_math;
    return nearbyint(x);
  }
};
inline constexpr op round_p = detail::float_function<round_fn>({
    .name = "round",
    .stablehlo = "stablehlo.round_nearest_even",
    .vjp = detail::no_gradient,
    .kernels = kernels_of<round_p>,
});
template <>
struct element_of<round_p> : round_fn {};

// Elementary functions, element by element, as in jax.numpy. Integers become f32 first.

/// e^x
constexpr array exp(const array& x, source_line l) { return detail::float_unary(described<exp_p>(), x, l); }
/// e^x - 1, accurate near 0
constexpr array expm1(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<expm1_p>(), x, l);
}
/// natural logarithm
constexpr array log(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<log_p>(), x, l);
}
/// log(1 + x), accurate near 0
constexpr array log1p(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<log1p_p>(), x, l);
}
/// square root
constexpr array sqrt(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<sqrt_p>(), x, l);
}
/// 1 / sqrt(x)
constexpr array rsqrt(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<rsqrt_p>(), x, l);
}
/// hyperbolic tangent
constexpr array tanh(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<tanh_p>(), x, l);
}
/// 1 / (1 + e^-x)
constexpr array logistic(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<logistic_p>(), x, l);
}
/// sine of an angle in radians
constexpr array sin(const array& x, source_line l) { return detail::float_unary(described<sin_p>(), x, l); }
/// cosine of an angle in radians
constexpr array cos(const array& x, source_line l) { return detail::float_unary(described<cos_p>(), x, l); }
/// error function
constexpr array erf(const array& x, source_line l = source_line::current()) {
  return detail::float_unary(described<erf_p>(), x, l);
}
/// largest integer not above x; integers stay as they are
constexpr array floor(const array& x, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) return x;
  return detail::unary(described<floor_p>(), x, l);
}
/// smallest integer not below x; integers stay as they are
constexpr array ceil(const array& x, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) return x;
  return detail::unary(described<ceil_p>(), x, l);
}
/// nearest integer, halves to the even one; integers stay as they are, and bool is refused
constexpr array round(const array& x, source_line l = source_line::current()) {
  if (is_integer(x.dtype())) return x;
  return detail::unary(described<round_p>(), x, l);
}

constexpr array power(const array& x, const array& y, source_line l = source_line::current());

struct pow_fn {
  template <class V>
  static V apply(V x, V y) {
    using namespace scalar_math;
    return pow(x, y);
  }
};
inline constexpr op pow_p = elementwise<pow_fn, 2>({
    .name = "pow",
    .stablehlo = "stablehlo.power",
    .dtypes = accepts::floating,
    .cost = transcendental,
    .vjp = [](const call& c) -> arrays {
      // d/dx = y x^(y-1), and 0 where y is 0, so that x^-1 is not computed where it is infinite. d/dy = log(x) x^y, where
      // log(0) counts as 0, so that the gradient of 0^y is not NaN.
      const array one(1.0, c.ct().type());
      const auto exponent = [&] {
        const array none = logical_and(c[1] == 0.0, abs(c[0]) < 0x1p-126);
        return select(none, one, c[1] - 1.0);
      };
      return {c.needs(0) ? c.ct() * (c[1] * power(c[0], exponent())) : array(),
              c.needs(1) ? c.ct() * (log(select(c[0] == 0.0, one, c[0])) * c.out()) : array()};
    },
    .kernels = kernels_of<pow_p>,
});
template <>
struct element_of<pow_p> : pow_fn {};

/// x to the power y; special values as in IEEE 754. A negative power of an integer is 0, but for those of 1 and -1.
///
/// shapes  x, y broadcast together
/// dtypes  their promotion; integers stay integers, whose powers keep their low bits, and bool becomes i32
/// source  jax.numpy.power, which has other values of exponents below 0 and from 64 on
constexpr array power(const array& x, const array& y, source_line l) {
  array v[2] = {x, y};
  if (is_floating(x.dtype()) || is_floating(y.dtype())) {
    detail::unify_in_floats(described<pow_p>(), v, l);
    return bind(described<pow_p>(), {v[0], v[1]}, words{}, l);
  }
  detail::unify(described<pow_p>(), v, l);
  if (is_floating(v[0].dtype())) return bind(described<pow_p>(), {v[0], v[1]}, words{}, l);  // of i64 and u64
  for (array& a : v)
    if (a.dtype() == bool_) a = convert_element_type(a, i32, false, l);
  return detail::integer_power(v[0], v[1]);
}

/// Is x neither infinite nor NaN? Integers and truth values always are.
constexpr array isfinite(const array& x, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) return array(true, {bool_, false, x.shape()});
  const array d = detail::binary(described<sub_p>(), x, x, l);
  return d == 0.0;
}

}  // namespace tokamax
