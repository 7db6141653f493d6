// tokamax/lax/elementwise/arithmetic.hpp: add, sub, mul, div, neg, max, min, rem, abs, sign and their operators.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>  // select

namespace tokamax {

constexpr array operator+(const array& a, const located& b);
constexpr array operator-(const array& a, const located& b);
constexpr array operator*(const array& a, const located& b);
constexpr array operator/(const array& a, const located& b);
constexpr array operator-(const located& a);
constexpr array sign(const array& a, source_line l = source_line::current());

struct add_fn {
  template <class V>
  static constexpr V apply(V a, V b) {
    return a + b;
  }
};
inline constexpr op add_p = elementwise<add_fn, 2>({
    .name = "add",
    .stablehlo = "stablehlo.add",
    .dtypes = accepts::numbers,
    .algebra = {.linear = true,
                .commutative = true,
                .left_neutral = -0.0,  // -0 + 0 is 0
                .right_neutral = -0.0,
                .fold_integers = fold<add_fn, 2, std::int64_t>},
    .memory = {.recomputed = true},
    .vjp = [](const call& c) -> arrays { return {c.ct(), c.ct()}; },
    .kernels = kernels_of<add_p>,
});
template <>
struct element_of<add_p> : add_fn {};

struct sub_fn {
  template <class V>
  static constexpr V apply(V a, V b) {
    return a - b;
  }
};
inline constexpr op sub_p = elementwise<sub_fn, 2>({
    .name = "sub",
    .stablehlo = "stablehlo.subtract",
    .dtypes = accepts::numbers,
    .algebra = {.linear = true, .right_neutral = 0, .fold_integers = fold<sub_fn, 2, std::int64_t>},
    .memory = {.recomputed = true},
    .vjp = [](const call& c) -> arrays { return {c.ct(), c.needs(1) ? -c.ct() : array()}; },
    .kernels = kernels_of<sub_p>,
});
template <>
struct element_of<sub_p> : sub_fn {};

struct mul_fn {
  template <class V>
  static constexpr V apply(V a, V b) {
    return a * b;
  }
};
inline constexpr op mul_p = elementwise<mul_fn, 2>({
    .name = "mul",
    .stablehlo = "stablehlo.multiply",
    .dtypes = accepts::numbers,
    .algebra =
        {.commutative = true, .left_neutral = 1, .right_neutral = 1, .fold_integers = fold<mul_fn, 2, std::int64_t>},
    .memory = {.recomputed = true},
    .vjp = [](const call& c) -> arrays {
      return {c.needs(0) ? c.ct() * c[1] : array(), c.needs(1) ? c.ct() * c[0] : array()};
    },
    .kernels = kernels_of<mul_p>,
});
template <>
struct element_of<mul_p> : mul_fn {};

struct div_fn {
  template <class V>
  static constexpr V apply(V a, V b) {
    return a / b;
  }
};
inline constexpr op div_p = elementwise<div_fn, 2>({
    .name = "div",
    .stablehlo = "stablehlo.divide",
    .dtypes = accepts::floating,
    .algebra = {.right_neutral = 1},
    .vjp = [](const call& c) -> arrays {
      const array scaled = c.ct() / c[1];
      return {scaled, c.needs(1) ? -(scaled * c.out()) : array()};
    },
    .kernels = kernels_of<div_p>,
});
template <>
struct element_of<div_p> : div_fn {};

struct neg_fn {
  template <class V>
  static constexpr V apply(V a) {
    return -a;
  }
};
inline constexpr op neg_p = elementwise<neg_fn, 1>({
    .name = "neg",
    .stablehlo = "stablehlo.negate",
    .dtypes = accepts::numbers,
    .algebra = {.linear = true, .fold_integers = fold<neg_fn, 1, std::int64_t>},
    .vjp = [](const call& c) -> arrays { return -c.ct(); },
    .kernels = kernels_of<neg_p>,
});
template <>
struct element_of<neg_p> : neg_fn {};

namespace detail {
/// The gradient of max and min goes to the operand that was chosen, and half to each where they tie.
constexpr arrays chooser_vjp(const call& c) {
  auto share = [&](const array& mine, const array& other) {
    return c.ct() * select(mine == other, array(0.5, c.ct().type()), astype(mine == c.out(), c.ct().dtype()));
  };
  return {c.needs(0) ? share(c[0], c[1]) : array(), c.needs(1) ? share(c[1], c[0]) : array()};
}
constexpr bool is_negative(double v) { return std::bit_cast<std::int64_t>(v) < 0; }  // -0 too
}  // namespace detail

// Not commutative: of two zeros, or two NaN, the operands' order decides.
struct max_fn {
  template <class V>
  static constexpr V apply(V a, V b) {  // NaN if one of them is
    using namespace scalar_math;
    return select((a > b) | !(a == a), a, b);
  }
  template <class T>
  static constexpr modular<T> apply(modular<T> a, modular<T> b) {  // integers have no NaN
    return a > b ? a : b;
  }
  static constexpr double apply(double a, double b) {  // 0 is larger than -0
    return a > b || a != a || (a == b && detail::is_negative(b)) ? a : b;
  }
  static spelled apply(spelled a, spelled b) { return spelled::call("maximum", {a, b}); }
};
inline constexpr op max_p = elementwise<max_fn, 2>({
    .name = "max",
    .stablehlo = "stablehlo.maximum",
    .dtypes = accepts::numbers,
    .algebra = {.fold_integers = fold<max_fn, 2, std::int64_t>},
    .vjp = detail::chooser_vjp,
    .kernels = kernels_of<max_p>,
});
template <>
struct element_of<max_p> : max_fn {};

struct min_fn {
  template <class V>
  static constexpr V apply(V a, V b) {
    using namespace scalar_math;
    return select((a < b) | !(a == a), a, b);
  }
  template <class T>
  static constexpr modular<T> apply(modular<T> a, modular<T> b) {  // integers have no NaN
    return a < b ? a : b;
  }
  static constexpr double apply(double a, double b) {
    return a < b || a != a || (a == b && detail::is_negative(a)) ? a : b;
  }
  static spelled apply(spelled a, spelled b) { return spelled::call("minimum", {a, b}); }
};
inline constexpr op min_p = elementwise<min_fn, 2>({
    .name = "min",
    .stablehlo = "stablehlo.minimum",
    .dtypes = accepts::numbers,
    .algebra = {.fold_integers = fold<min_fn, 2, std::int64_t>},
    .vjp = detail::chooser_vjp,
    .kernels = kernels_of<min_p>,
});
template <>
struct element_of<min_p> : min_fn {};

struct abs_fn {
  template <class V>
  static constexpr V apply(V a) {
    using namespace scalar_math;
    return abs(a);
  }
};
inline constexpr op abs_p = elementwise<abs_fn, 1>({
    .name = "abs",
    .stablehlo = "stablehlo.abs",
    .dtypes = accepts::numbers,
    .vjp = [](const call& c) -> arrays { return select(c[0] >= 0.0, c.ct(), -c.ct()); },
    .kernels = kernels_of<abs_p>,
});
template <>
struct element_of<abs_p> : abs_fn {};

struct sign_fn {
  template <class V>
  static constexpr V apply(V a) {  // zeros and NaN pass through
    using namespace scalar_math;
    return select(a > V(0), V(1), select(a < V(0), -V(1), a));
  }
};
inline constexpr op sign_p = elementwise<sign_fn, 1>({
    .name = "sign",
    .stablehlo = "stablehlo.sign",
    .dtypes = accepts::numbers,
    .vjp = detail::no_gradient,
    .kernels = kernels_of<sign_p>,
});
template <>
struct element_of<sign_p> : sign_fn {};

/// Arithmetic with NumPy broadcasting and JAX promotion.
///
/// shapes  a, b broadcast together
/// dtypes  their promotion; `/` of integers is computed in f32, and that of 64-bit integers in f64
/// errors  "add: shapes" (and so on) if the shapes do not broadcast
/// source  jax.numpy
constexpr array operator+(const array& a, const located& b) {
  return detail::binary(described<add_p>(), a, b.value, b.where);
}
constexpr array operator-(const array& a, const located& b) {
  return detail::binary(described<sub_p>(), a, b.value, b.where);
}
constexpr array operator*(const array& a, const located& b) {
  return detail::binary(described<mul_p>(), a, b.value, b.where);
}
constexpr array operator/(const array& a, const located& b) {
  if (is_floating(a.dtype()) || is_floating(b.value.dtype()))
    return detail::binary(described<div_p>(), a, b.value, b.where);
  const dtype type = bits_of(a.dtype()) == 64 ? f64 : floating_for(b.value.dtype());
  return detail::binary(described<div_p>(), convert_element_type(a, type, a.type().weak && b.value.type().weak),
                        b.value, b.where);
}
constexpr array operator-(const located& a) { return detail::unary(described<neg_p>(), a.value, a.where); }

/// a = a + b and so on. `a` becomes the result, and has its dtype and shape.
template <std::derived_from<array> A>
constexpr A& operator+=(A& a, const located& b) {
  return a = a + b;
}
template <std::derived_from<array> A>
constexpr A& operator-=(A& a, const located& b) {
  return a = a - b;
}
template <std::derived_from<array> A>
constexpr A& operator*=(A& a, const located& b) {
  return a = a * b;
}
template <std::derived_from<array> A>
constexpr A& operator/=(A& a, const located& b) {
  return a = a / b;
}

/// The larger (smaller) of two values; NaN if one of them is NaN, and -0 is smaller than 0. The gradient is shared where
/// they tie.
/// source  jax.numpy.maximum, jax.numpy.minimum
constexpr array maximum(const array& a, const array& b, source_line l = source_line::current()) {
  if (a.dtype() == bool_ && b.dtype() == bool_) return logical_or(a, b, l);
  return detail::binary(described<max_p>(), a, b, l);
}
constexpr array minimum(const array& a, const array& b, source_line l = source_line::current()) {
  if (a.dtype() == bool_ && b.dtype() == bool_) return logical_and(a, b, l);
  return detail::binary(described<min_p>(), a, b, l);
}

/// |x|; the gradient at 0 is 1, as in JAX.
constexpr array abs(const array& a, source_line l = source_line::current()) {
  if (a.dtype() == bool_) return a;
  return detail::unary(described<abs_p>(), a, l);
}

/// -1, 0 or 1, the sign of x. Zeros keep their sign and NaN stays NaN.
constexpr array sign(const array& a, source_line l) { return detail::unary(described<sign_p>(), a, l); }

/// x * x.
constexpr array square(const array& a, source_line l = source_line::current()) {
  if (a.dtype() == bool_) return astype(a, i32, l);
  return detail::binary(described<mul_p>(), a, a, l);
}

}  // namespace tokamax
