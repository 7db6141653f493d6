// tokamax/stablehlo/rules/elementwise_rules.hpp: rules of operations on each element.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/complex/arithmetic.hpp>              // sign of complex numbers
#include <tokamax/complex/exponential.hpp>             // exp, log, sqrt, power
#include <tokamax/complex/trigonometric.hpp>           // sin, cos, tanh
#include <tokamax/lax/elementwise/bitwise.hpp>         // bitwise_and, shift_left
#include <tokamax/lax/elementwise/cube_root.hpp>       // cbrt
#include <tokamax/lax/elementwise/division.hpp>        // rem, quotient
#include <tokamax/lax/elementwise/precision_bits.hpp>  // reduce_precision
#include <tokamax/lax/elementwise/rounding.hpp>        // round
#include <tokamax/lax/stop_gradient.hpp>               // optimization_barrier
#include <tokamax/stablehlo/rules/evaluator.hpp>       // rule_entry

#include <span>  // span

namespace tokamax::stablehlo::detail {

/// The key by which floats are in total order: -NaN < -infinity < ... < -0 < 0 < ... < NaN, as integers of their width.
inline array total_order_key(const array& x) {
  if (!is_floating(x.dtype())) return x;
  const dtype bits = narrowest(dtype_kind::signed_integer, bits_of(x.dtype()));
  const array b = bitcast_convert_type(x, bits);
  const array all_but_sign(element_bits{(std::uint64_t{1} << (bits_of(bits) - 1)) - 1}, {bits, false, {}});
  return select(b < array(0, {bits, false, {}}), bitwise_xor(b, all_but_sign), b);
}
/// `compare` by its direction; of complex numbers only whether they are equal.
inline value compare_values(const rule_call& c) {
  const std::string direction = c.text("comparison_direction");
  if (c.is_complex()) {
    if (direction == "EQ") return {c.parts(0) == c.parts(1), {}};
    if (direction == "NE") return {c.parts(0) != c.parts(1), {}};
    refuse(c.op, direction + " of complex numbers", "EQ or NE");
  }
  const bool total = c.text("compare_type", "NOTYPE") == "TOTALORDER";
  const array a = total ? total_order_key(c[0]) : c[0], b = total ? total_order_key(c[1]) : c[1];
  if (direction == "EQ") return {equal(a, b), {}};
  if (direction == "NE") return {not_equal(a, b), {}};
  if (direction == "LT") return {a < b, {}};
  if (direction == "LE") return {a <= b, {}};
  if (direction == "GT") return {a > b, {}};
  if (direction == "GE") return {a >= b, {}};
  refuse(c.op, direction, "EQ, NE, LT, LE, GT or GE");
}
/// A conversion between real and complex numbers drops or adds the imaginary part.
inline value converted_value(const rule_call& c) {
  const value_type& t = c.result();
  const value& x = c.at(0);
  const auto to = [&](const array& part) { return astype(part, t.dtype); };
  if (!t.complex) return {to(x.re), {}};
  return {to(x.re), x.is_complex() ? to(x.im) : zeros_like(to(x.re))};
}
/// The greater (or less) of two numbers; of complex ones, by their real parts first.
inline value extreme_value(const rule_call& c, bool largest) {
  if (c.is_complex()) {
    const complex_parts a = c.parts(0), b = c.parts(1);
    const array first =
        logical_or(largest ? a.re > b.re : a.re < b.re, logical_and(a.re == b.re, largest ? a.im > b.im : a.im < b.im));
    return {select(first, a.re, b.re), select(first, a.im, b.im)};
  }
  if (c[0].dtype() == bool_) return {largest ? logical_or(c[0], c[1]) : logical_and(c[0], c[1]), {}};
  return {largest ? maximum(c[0], c[1]) : minimum(c[0], c[1]), {}};
}
/// Integers are divided toward zero.
inline value divided(const rule_call& c) {
  if (c.is_complex()) return of(c.parts(0) / c.parts(1));
  return {is_integer(c[0].dtype()) ? quotient(c[0], c[1]) : c[0] / c[1], {}};
}
/// Floats rounded to fewer bits.
inline value reduced_precision(const rule_call& c) {
  return {reduce_precision(c[0], static_cast<int>(c.integer("exponent_bits")),
                           static_cast<int>(c.integer("mantissa_bits"))),
          {}};
}
/// The condition may be one value for all elements.
inline value selected(const rule_call& c) {
  const array& which = c[0];
  if (!c.at(1).is_complex() && !c.at(2).is_complex()) return {select(which, c[1], c[2]), {}};
  const complex_parts a = c.parts(1), b = c.parts(2);
  return {select(which, a.re, b.re), select(which, a.im, b.im)};
}
/// The rule of a function of one operand: of real numbers, or of complex ones too.
template <auto F>
values of_real(const rule_call& c) {
  return {{F(c[0]), {}}};
}
template <auto F>
values of_number(const rule_call& c) {
  if (c.is_complex()) return {of(F(c.parts(0)))};
  return {{F(c[0]), {}}};
}
/// The same of two operands.
template <auto F>
values of_reals(const rule_call& c) {
  return {{F(c[0], c[1]), {}}};
}
template <auto F>
values of_numbers(const rule_call& c) {
  if (c.is_complex()) return {of(F(c.parts(0), c.parts(1)))};
  return {{F(c[0], c[1]), {}}};
}
/// The rule of a function that gives one value.
template <auto F>
values of_call(const rule_call& c) {
  return {F(c)};
}

/// Arithmetic, comparisons and bits.
inline std::span<const rule_entry> arithmetic_rules() {
  static constexpr rule_entry all[] = {
      {"stablehlo.abs", "abs",
       [](const rule_call& c) -> values { return {{c.is_complex() ? abs(c.parts(0)) : abs(c[0]), {}}}; }},
      {"stablehlo.add", "+; of truth values logical_or",
       [](const rule_call& c) -> values {
         if (!c.is_complex() && c[0].dtype() == bool_) return {{logical_or(c[0], c[1]), {}}};
         return of_numbers<[](const auto& a, const auto& b) { return a + b; }>(c);
       }},
      {"stablehlo.and", "bitwise_and", of_reals<[](const array& a, const array& b) { return bitwise_and(a, b); }>},
      {"stablehlo.clamp", "clamp", [](const rule_call& c) -> values { return {{clamp(c[0], c[1], c[2]), {}}}; }},
      {"stablehlo.compare", "equal, <", of_call<compare_values>},
      {"stablehlo.complex", "complex", [](const rule_call& c) -> values { return {{c[0], c[1]}}; }},
      {"stablehlo.convert", "convert_element_type", of_call<converted_value>},
      {"stablehlo.count_leading_zeros", "clz", of_real<[](const array& x) { return clz(x); }>},
      {"stablehlo.divide", "/, quotient", of_call<divided>},
      {"stablehlo.imag", "imag", [](const rule_call& c) -> values { return {{c.parts(0).im, {}}}; }},
      {"stablehlo.maximum", "maximum", [](const rule_call& c) -> values { return {extreme_value(c, true)}; }},
      {"stablehlo.minimum", "minimum", [](const rule_call& c) -> values { return {extreme_value(c, false)}; }},
      {"stablehlo.multiply", "*; of truth values logical_and",
       [](const rule_call& c) -> values {
         if (!c.is_complex() && c[0].dtype() == bool_) return {{logical_and(c[0], c[1]), {}}};
         return of_numbers<[](const auto& a, const auto& b) { return a * b; }>(c);
       }},
      {"stablehlo.negate", "-", of_number<[](const auto& x) { return -x; }>},
      {"stablehlo.not", "bitwise_not", of_real<[](const array& x) { return bitwise_not(x); }>},
      {"stablehlo.optimization_barrier", "optimization_barrier",
       [](const rule_call& c) -> values {
         values v;
         for (const value& x : c.in) v.push_back(each_part([](const array& a) { return optimization_barrier(a); }, x));
         return v;
       }},
      {"stablehlo.or", "bitwise_or", of_reals<[](const array& a, const array& b) { return bitwise_or(a, b); }>},
      {"stablehlo.popcnt", "population_count", of_real<[](const array& x) { return population_count(x); }>},
      {"stablehlo.real", "real", [](const rule_call& c) -> values { return {{c.parts(0).re, {}}}; }},
      {"stablehlo.remainder", "rem", of_reals<[](const array& a, const array& b) { return rem(a, b); }>},
      {"stablehlo.select", "select", of_call<selected>},
      {"stablehlo.shift_left", "shift_left", of_reals<[](const array& a, const array& b) { return shift_left(a, b); }>},
      {"stablehlo.shift_right_arithmetic", "shift_right_arithmetic",
       of_reals<[](const array& a, const array& b) { return shift_right_arithmetic(a, b); }>},
      {"stablehlo.shift_right_logical", "shift_right_logical",
       of_reals<[](const array& a, const array& b) { return shift_right_logical(a, b); }>},
      {"stablehlo.sign", "sign", of_number<[](const auto& x) { return sign(x); }>},
      {"stablehlo.subtract", "-", of_numbers<[](const auto& a, const auto& b) { return a - b; }>},
      {"stablehlo.xor", "bitwise_xor", of_reals<[](const array& a, const array& b) { return bitwise_xor(a, b); }>},
  };
  return all;
}
/// Functions of real and complex numbers.
inline std::span<const rule_entry> function_rules() {
  static constexpr rule_entry all[] = {
      {"stablehlo.atan2", "atan2", of_reals<[](const array& a, const array& b) { return atan2(a, b); }>},
      {"stablehlo.cbrt", "cbrt", of_real<[](const array& x) { return cbrt(x); }>},
      {"stablehlo.ceil", "ceil", of_real<[](const array& x) { return ceil(x); }>},
      {"stablehlo.cosine", "cos", of_number<[](const auto& x) { return cos(x); }>},
      {"stablehlo.exponential", "exp", of_number<[](const auto& x) { return exp(x); }>},
      {"stablehlo.exponential_minus_one", "expm1", of_number<[](const auto& x) { return expm1(x); }>},
      {"stablehlo.floor", "floor", of_real<[](const array& x) { return floor(x); }>},
      {"stablehlo.is_finite", "isfinite", of_real<[](const array& x) { return isfinite(x); }>},
      {"stablehlo.log", "log", of_number<[](const auto& x) { return log(x); }>},
      {"stablehlo.log_plus_one", "log1p", of_number<[](const auto& x) { return log1p(x); }>},
      {"stablehlo.logistic", "logistic",
       [](const rule_call& c) -> values {
         if (!c.is_complex()) return {{logistic(c[0]), {}}};
         return {of(array(1.0f) / (exp(-c.parts(0)) + array(1.0f)))};
       }},
      {"stablehlo.power", "power", of_numbers<[](const auto& a, const auto& b) { return power(a, b); }>},
      {"stablehlo.reduce_precision", "reduce_precision", of_call<reduced_precision>},
      {"stablehlo.round_nearest_afz", "round",
       of_real<[](const array& x) { return round(x, rounding_method::away_from_zero); }>},
      {"stablehlo.round_nearest_even", "round", of_real<[](const array& x) { return round(x); }>},
      {"stablehlo.rsqrt", "rsqrt", of_number<[](const auto& x) { return rsqrt(x); }>},
      {"stablehlo.sine", "sin", of_number<[](const auto& x) { return sin(x); }>},
      {"stablehlo.sqrt", "sqrt", of_number<[](const auto& x) { return sqrt(x); }>},
      {"stablehlo.tan", "tan", of_number<[](const auto& x) { return tan(x); }>},
      {"stablehlo.tanh", "tanh", of_number<[](const auto& x) { return tanh(x); }>},
  };
  return all;
}

}  // namespace tokamax::stablehlo::detail
