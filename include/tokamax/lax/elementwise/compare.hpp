// tokamax/lax/elementwise/compare.hpp: comparisons, logic on booleans, and select.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/elementwise.hpp>  // elementwise, binary
#include <tokamax/lax/elementwise/scalar_math.hpp>  // select for doubles

namespace tokamax {

constexpr array select(const array& condition, const array& on_true, const array& on_false,
                       source_line l = source_line::current());

namespace detail {
constexpr arrays no_gradient(const call&) { return arrays(); }

/// The descriptor of a comparison: two operands of one dtype, truth values as the result, and no gradient.
template <class F>
constexpr op comparison(std::string_view name, kernel_set (*kernels)(), accepts dtypes = accepts::numbers) {
  return elementwise<F, 2>({
      .name = name,
      .stablehlo = "stablehlo.compare",
      .dtypes = dtypes,
      .algebra = {.fold_integers = fold<F, 2, std::int64_t>},
      .infer = compare_infer,
      .vjp = no_gradient,
      .kernels = kernels,
  });
}
/// The descriptor of an op on truth values.
template <class F, int Arity>
constexpr op logical(std::string_view name, std::string_view stablehlo, kernel_set (*kernels)()) {
  return elementwise<F, Arity, std::int64_t>({
      .name = name,
      .stablehlo = stablehlo,
      .dtypes = accepts::booleans,
      .vjp = no_gradient,
      .kernels = kernels,
  });
}
/// Truth values compare like the integers 0 and 1.
constexpr array ordered(const op& o, const array& a, const array& b, location l) {
  if (a.dtype() != bool_ || b.dtype() != bool_) return binary(o, a, b, l);
  return binary(o, convert_element_type(a, i32), convert_element_type(b, i32), l);
}
}  // namespace detail

// A comparison with NaN is false, so `ne` is the opposite of `eq` and not a comparison of its own.
struct eq_fn {
  template <class V>
  static constexpr auto apply(V a, V b) {
    return a == b;
  }
};
struct ne_fn {
  template <class V>
  static constexpr auto apply(V a, V b) {
    return !(a == b);
  }
};
struct lt_fn {
  template <class V>
  static constexpr auto apply(V a, V b) {
    return a < b;
  }
};
struct le_fn {
  template <class V>
  static constexpr auto apply(V a, V b) {
    return a <= b;
  }
};
struct gt_fn {
  template <class V>
  static constexpr auto apply(V a, V b) {
    return a > b;
  }
};
struct ge_fn {
  template <class V>
  static constexpr auto apply(V a, V b) {
    return a >= b;
  }
};

inline constexpr op eq_p = detail::comparison<eq_fn>("eq", kernels_of<eq_p>, accepts::all);
inline constexpr op ne_p = detail::comparison<ne_fn>("ne", kernels_of<ne_p>, accepts::all);
inline constexpr op lt_p = detail::comparison<lt_fn>("lt", kernels_of<lt_p>);
inline constexpr op le_p = detail::comparison<le_fn>("le", kernels_of<le_p>);
inline constexpr op gt_p = detail::comparison<gt_fn>("gt", kernels_of<gt_p>);
inline constexpr op ge_p = detail::comparison<ge_fn>("ge", kernels_of<ge_p>);
template <>
struct element_of<eq_p> : eq_fn {};
template <>
struct element_of<ne_p> : ne_fn {};
template <>
struct element_of<lt_p> : lt_fn {};
template <>
struct element_of<le_p> : le_fn {};
template <>
struct element_of<gt_p> : gt_fn {};
template <>
struct element_of<ge_p> : ge_fn {};

/// Elementwise comparisons with NumPy broadcasting and JAX promotion; every comparison with NaN but `ne` is false.
/// dtypes  any -> bool
/// source  jax.numpy.equal and its family
constexpr array equal(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::binary(described<eq_p>(), a, b, l);
}
constexpr array not_equal(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::binary(described<ne_p>(), a, b, l);
}
constexpr array operator==(const array& a, const located& b) {
  return detail::binary(described<eq_p>(), a, b.value, b.where);
}
constexpr array operator!=(const array& a, const located& b) {
  return detail::binary(described<ne_p>(), a, b.value, b.where);
}
constexpr array operator<(const array& a, const located& b) {
  return detail::ordered(described<lt_p>(), a, b.value, b.where);
}
constexpr array operator<=(const array& a, const located& b) {
  return detail::ordered(described<le_p>(), a, b.value, b.where);
}
constexpr array operator>(const array& a, const located& b) {
  return detail::ordered(described<gt_p>(), a, b.value, b.where);
}
constexpr array operator>=(const array& a, const located& b) {
  return detail::ordered(described<ge_p>(), a, b.value, b.where);
}

struct and_fn {
  template <class V>
  static constexpr V apply(V a, V b) {
    return a & b;
  }
};
struct or_fn {
  template <class V>
  static constexpr V apply(V a, V b) {
    return a | b;
  }
};
struct not_fn {
  template <class V>
  static constexpr V apply(V a) {
    return !a;
  }
};
inline constexpr op logical_and_p =
    detail::logical<and_fn, 2>("logical_and", "stablehlo.and", kernels_of<logical_and_p>);
inline constexpr op logical_or_p = detail::logical<or_fn, 2>("logical_or", "stablehlo.or", kernels_of<logical_or_p>);
inline constexpr op logical_not_p =
    detail::logical<not_fn, 1>("logical_not", "stablehlo.not", kernels_of<logical_not_p>);
template <>
struct element_of<logical_and_p> : and_fn {};
template <>
struct element_of<logical_or_p> : or_fn {};
template <>
struct element_of<logical_not_p> : not_fn {};

/// Logic on truth values. A number is true if it is not zero.
constexpr array logical_and(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::binary(described<logical_and_p>(), convert_element_type(a, bool_), convert_element_type(b, bool_), l);
}
constexpr array logical_or(const array& a, const array& b, source_line l = source_line::current()) {
  return detail::binary(described<logical_or_p>(), convert_element_type(a, bool_), convert_element_type(b, bool_), l);
}
constexpr array logical_not(const array& a, source_line l = source_line::current()) {
  return detail::unary(described<logical_not_p>(), convert_element_type(a, bool_), l);
}

/// The second operand where the first one is true, and the third one elsewhere.
struct select_fn {
  template <class M, class V>
  static constexpr V apply(M c, V a, V b) {
    using namespace scalar_math;
    return select(c, a, b);
  }
};
inline constexpr op select_p = elementwise<select_fn, 3>({
    .name = "select",
    .stablehlo = "stablehlo.select",
    .infer = [](const call& c) -> array_type {
      if (c[0].dtype() != bool_ || !(c[0].shape() == c[1].shape()))
        return c.fail("select: condition", c[0].type(), message("bool") << c[1].shape());
      if (!(c[1].type() == c[2].type())) return c.fail("select: operand types", c[2].type(), c[1].type());
      return {c[1].dtype(), c[1].type().weak && c[2].type().weak, c[1].shape()};
    },
    .vjp = [](const call& c) -> arrays {
      const array zero(0.0, c.ct().type());
      return {array(), c.needs(1) ? select(c[0], c.ct(), zero) : array(),
              c.needs(2) ? select(c[0], zero, c.ct()) : array()};
    },
    .jvp = [](const call& c) -> arrays {
      const array zero(0.0, c.out().type());
      return select(c[0], c.tangents[1].exists() ? c.tangents[1] : zero, c.tangents[2].exists() ? c.tangents[2] : zero);
    },
    .simplify = [](const call& c) -> array {
      if (c[1].id() == c[2].id() || detail::is_constant(c[0], 1)) return c[1];
      return detail::is_constant(c[0], 0) ? c[2] : array();
    },
    .kernels = kernels_of<select_p>,
});
template <>
struct element_of<select_p> : select_fn {};

/// condition ? on_true : on_false, element by element, with broadcasting and promotion.
/// source  jax.lax.select, which neither broadcasts nor promotes
constexpr array select(const array& condition, const array& on_true, const array& on_false, source_line l) {
  array x[3] = {convert_element_type(condition, bool_), on_true, on_false};
  detail::unify(described<select_p>(), x, l, 1);
  return bind(described<select_p>(), {x[0], x[1], x[2]}, words{}, l);
}

}  // namespace tokamax
