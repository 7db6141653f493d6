// tokamax/stablehlo/rules/chlo_rules.hpp: rules of the operations of CHLO, which JAX writes for special functions.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/complex/inverse.hpp>                    // asin, acosh
#include <tokamax/lax/elementwise/hyperbolic.hpp>         // sinh
#include <tokamax/lax/elementwise/mulhi.hpp>              // mulhi
#include <tokamax/lax/elementwise/special.hpp>            // erf_inv
#include <tokamax/lax/indexing/top_k.hpp>                 // top_k
#include <tokamax/ops/ragged_dot.hpp>                     // ragged_dot
#include <tokamax/scipy/special/bessel.hpp>               // bessel_i1e
#include <tokamax/scipy/special/error_functions.hpp>      // erfc
#include <tokamax/scipy/special/gamma.hpp>                // lgamma, digamma, zeta, polygamma
#include <tokamax/stablehlo/rules/elementwise_rules.hpp>  // of_real

#include <limits>  // numeric_limits

namespace tokamax::stablehlo::detail {

/// f in f32 at least, rounded once.
template <auto F>
values of_wide(const rule_call& c) {
  const dtype to = c[0].dtype();
  if (c.count() == 1) {
    if constexpr (requires { F(c[0]); }) return {{astype(F(astype(c[0], carrying(to))), to), {}}};
  } else {
    if constexpr (requires { F(c[0], c[0]); })
      return {{astype(F(astype(c[0], carrying(to)), astype(c[1], carrying(to))), to), {}}};
  }
  refuse(c.op, std::to_string(c.count()) + " operands", "another number");
}
/// CHLO has derivatives of whole order only.
inline array polygamma_or_nan(const array& n, const array& x) {
  const array whole = logical_and(n == floor(n), n >= 0.0);
  return select(whole, polygamma(n, x), full_like(x, std::numeric_limits<double>::quiet_NaN()));
}
/// The largest values of rows. Truth values are ordered as numbers.
inline values top_k_value(const rule_call& c) {
  const array x = c[0].dtype() == bool_ ? astype(c[0], i8) : c[0];
  const top_k_result r = top_k(x, c.integer("k"));
  return {{astype(r.values, c[0].dtype()), {}}, {r.indices, {}}};
}
inline array infinite(const array& x, bool positive, bool negative) {
  const array top(std::numeric_limits<double>::infinity(), {x.dtype(), false, {}});
  return positive && negative ? abs(x) == top : positive ? x == top : x == -top;
}
/// The operation of an operand with the extents of the other one.
template <rule Apply>
values broadcast_first(const rule_call& c) {
  values in = c.in;
  if (c.count() >= 2) {
    const shape& s = c.extents();
    for (value& v : in) v = each_part([&](const array& x) { return broadcast_to(x, s); }, v);
  }
  return Apply({c.op, in, c.run, c.around, c.lanes});
}

inline std::span<const rule_entry> chlo_rules() {
  static constexpr rule_entry all[] = {
      {"chlo.acos", "acos", of_number<[](const auto& x) { return acos(x); }>},
      {"chlo.acosh", "acosh", of_number<[](const auto& x) { return acosh(x); }>},
      {"chlo.asin", "asin", of_number<[](const auto& x) { return asin(x); }>},
      {"chlo.asinh", "asinh", of_number<[](const auto& x) { return asinh(x); }>},
      {"chlo.atan", "atan", of_number<[](const auto& x) { return atan(x); }>},
      {"chlo.atanh", "atanh", of_number<[](const auto& x) { return atanh(x); }>},
      {"chlo.bessel_i1e", "bessel_i1e", of_wide<[](const array& x) { return bessel_i1e(x); }>},
      {"chlo.broadcast_add", "+", broadcast_first<of_numbers<[](const auto& a, const auto& b) { return a + b; }>>},
      {"chlo.broadcast_compare", "<", broadcast_first<of_call<compare_values>>},
      {"chlo.broadcast_divide", "/", broadcast_first<of_call<divided>>},
      {"chlo.broadcast_multiply", "*", broadcast_first<of_numbers<[](const auto& a, const auto& b) { return a * b; }>>},
      {"chlo.broadcast_subtract", "-", broadcast_first<of_numbers<[](const auto& a, const auto& b) { return a - b; }>>},
      {"chlo.conj", "conj",
       [](const rule_call& c) -> values {
         if (!c.is_complex()) return {c.at(0)};
         return {of(conj(c.parts(0)))};
       }},
      {"chlo.cosh", "cosh", of_number<[](const auto& x) { return cosh(x); }>},
      {"chlo.digamma", "digamma", of_wide<[](const array& x) { return digamma(x); }>},
      {"chlo.erf", "erf", of_real<[](const array& x) { return erf(x); }>},
      {"chlo.erf_inv", "erf_inv", of_wide<[](const array& x) { return erf_inv(x); }>},
      {"chlo.erfc", "erfc", of_wide<[](const array& x) { return erfc(x); }>},
      {"chlo.is_inf", "isinf", of_real<[](const array& x) { return infinite(x, true, true); }>},
      {"chlo.is_neg_inf", "isneginf", of_real<[](const array& x) { return infinite(x, false, true); }>},
      {"chlo.is_pos_inf", "isposinf", of_real<[](const array& x) { return infinite(x, true, false); }>},
      {"chlo.lgamma", "lgamma", of_wide<[](const array& x) { return lgamma(x); }>},
      {"chlo.mulhi", "mulhi", of_reals<[](const array& a, const array& b) { return mulhi(a, b); }>},
      {"chlo.next_after", "nextafter", of_reals<[](const array& a, const array& b) { return nextafter(a, b); }>},
      {"chlo.polygamma", "polygamma", of_wide<[](const array& a, const array& b) { return polygamma_or_nan(a, b); }>},
      {"chlo.sinh", "sinh", of_number<[](const auto& x) { return sinh(x); }>},
      {"chlo.square", "square", of_number<[](const auto& x) { return square(x); }>},
      {"chlo.tan", "tan", of_number<[](const auto& x) { return tan(x); }>},
      {"chlo.zeta", "zeta", of_wide<[](const array& a, const array& b) { return zeta(a, b); }>},
  };
  return all;
}
inline std::span<const rule_entry> chlo_array_rules() {
  static constexpr rule_entry all[] = {
      {"chlo.ragged_dot", "ragged_dot",
       [](const rule_call& c) -> values {
         if (c[0].rank() != 2 || c[1].rank() != 3) refuse(c.op, "operands of other ranks", "[m, k], [g, k, n] and [g]");
         return {{astype(ragged_dot(c[0], c[1], astype(c[2], i32)), c.result().dtype), {}}};
       }},
      {"chlo.top_k", "top_k", top_k_value},
  };
  return all;
}

}  // namespace tokamax::stablehlo::detail
