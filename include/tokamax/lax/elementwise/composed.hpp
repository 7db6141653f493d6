// tokamax/lax/elementwise/composed.hpp: what functions without a kernel of their own share: they are composed in f32 or f64, and rounded once.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/elementwise/trigonometric.cpp
#pragma once

#include <tokamax/lax/elementwise/elementwise.hpp>  // unify_in_floats

namespace tokamax::detail {

/// The operands in f32 at least, because constants in bf16 would lose most of their digits.
constexpr arrays wide_operands(const call& c) {
  arrays x;
  for (int k = 0; k < c.count; ++k) x.push_back(astype(c[k], carrying(c[k].dtype())));
  return x;
}
template <array (*Value)(const arrays&)>
constexpr arrays special_compose(const call& c) {
  return astype(Value(wide_operands(c)), c[0].dtype());
}
/// The cotangents: that of the result times the slope by each operand. A null slope belongs to an operand without a derivative.
template <array (*... Slope)(const arrays& x, const array& y)>
constexpr arrays special_vjp(const call& c) {
  constexpr array (*slopes[])(const arrays&, const array&) = {Slope...};
  const arrays x = wide_operands(c);
  const array y = astype(c.out(), x[0].dtype()), ct = astype(c.ct(), x[0].dtype());
  arrays out;
  for (int k = 0; k < c.count; ++k) {
    out.push_back(array());
    if (!c.needs(k)) continue;
    if (slopes[k])
      out.back() = astype(ct * slopes[k](x, y), c[k].dtype());
    else
      c.fail(message(c.self->name) << ": derivative", message("by operand ") << k, "an operand that has a derivative");
  }
  return out;
}
/// Completes the descriptor of a function of floating operands that are equal in type.
constexpr op special(op o) {
  o.dtypes = accepts::floating;
  o.infer = same_type_infer;
  o.batch = elementwise_batch;
  return o;
}
/// Applies such an op to operands of any dtype and of shapes that broadcast.
constexpr array special_binary(const op& o, const array& a, const array& b, location where) {
  array x[2] = {a, b};
  unify_in_floats(o, x, where);
  return bind_one(o, x, 2, words{}, where);
}
constexpr array special_ternary(const op& o, const array& a, const array& b, const array& c, location where) {
  array x[3] = {a, b, c};
  unify_in_floats(o, x, where);
  return bind_one(o, x, 3, words{}, where);
}

}  // namespace tokamax::detail
