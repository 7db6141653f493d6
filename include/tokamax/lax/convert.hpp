// tokamax/lax/convert.hpp: convert_element_type and bitcast_convert_type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/bind.hpp>  // bind

namespace tokamax {

/// Attributes of convert_element_type.
struct convert_options {
  dtype type = dtype::none;
  bool weak = false;
};

constexpr array convert_element_type(const array& x, dtype type, bool weak = false,
                                     source_line l = source_line::current());

/// The element function of convert_element_type. The backend converts between register types itself, so the function
/// returns its argument.
struct convert_fn {
  template <class V>
  static constexpr V apply(V x) {
    return x;
  }
};

inline constexpr op convert_element_type_p{
    .name = "convert_element_type",
    .stablehlo = "stablehlo.convert",
    .operands = 1,
    .algebra = {.linear = true, .conversion = true, .fold = fold<convert_fn, 1>},
    .memory = {.kind = op_kind::elementwise},
    .attributes = schema<convert_options>,
    .infer = [](const call& c) -> array_type {
      const auto [type, weak] = c.attrs<convert_options>();
      return {type, weak, c[0].shape()};
    },
    .vjp = [](const call& c) -> arrays { return convert_element_type(c.ct(), c[0].dtype()); },
    .batch = [](const call& c) -> arrays {
      const auto [type, weak] = c.attrs<convert_options>();
      return convert_element_type(c[0], type, weak);
    },
    .simplify = [](const call& c) -> array {
      const node& n = (*c.trace)[c[0].id()];
      const auto [type, weak] = c.attrs<convert_options>();
      if (n.op == c.self && is_floating(type) && is_floating(n.type.dtype)) {  // back from a float with more digits
        const int id = c.trace->operands[n.first_operand];
        const array_type& from = (*c.trace)[id].type;
        if (from.dtype == type && from.weak == weak && bits_of(n.type.dtype) > bits_of(type))
          return array(c.trace, id, from);
      }
      // An integer or truth value that is known.
      if (n.op != &constant_p || is_floating(n.type.dtype) || is_floating(type)) return {};
      return lift(*c.trace,
                  array(converted(constant_bits(*c.trace, n), n.type.dtype, type), {type, weak, c[0].shape()}));
    },
    .spell = fold<convert_fn, 1, spelled>,
    .kernels = kernels_of<convert_element_type_p>,
};
template <>
struct element_of<convert_element_type_p> : convert_fn {};

/// The same values with another dtype. A float becomes an integer by dropping its fraction; one that does not fit becomes
/// the nearest integer that does, and NaN becomes 0. Integers keep their low bits. Conversion to bool is `x != 0`.
///
/// shapes  any -> the same
/// dtypes  any -> `type`; the cotangent of an integer or bool operand is zero
/// source  jax.lax.convert_element_type
constexpr array convert_element_type(const array& x, dtype type, bool weak, source_line l) {
  if (x.dtype() == type && x.type().weak == weak) return x;
  if (x.is_literal()) {
    if (type == dtype::none) return x;
    return array(x.literal_as(type), {type, weak, x.shape()});
  }
  if (x.dtype() == type && !x.trace() && x.is_concrete()) return array(x.storage(), {type, weak, x.shape()});
  return bind(described<convert_element_type_p>(), {x}, convert_options{type, weak}, l);
}

/// Short form: `astype(x, bf16)`.
constexpr array astype(const array& x, dtype type, source_line l = source_line::current()) {
  return convert_element_type(x, type, false, l);
}

namespace detail {
/// x as its sums are carried: f64 as it is, other floats in f32.
constexpr array carried(const array& x) { return astype(x, carrying(x.dtype())); }
/// f(x) with x as its sums are carried, rounded once to the dtype of x: a sum of many f16 that is rounded before its root or
/// logarithm is taken may be infinite.
template <class F>
constexpr array rounded_once(const array& x, const F& f) {
  return astype(f(carried(x)), x.dtype());
}
/// The same of two operands of one dtype.
template <class F>
constexpr array rounded_once(const array& x, const array& y, const F& f) {
  return astype(f(carried(x), carried(y)), x.dtype());
}
}  // namespace detail

/// Attributes of bitcast_convert_type.
struct bitcast_options {
  dtype type = dtype::none;
};

inline constexpr op bitcast_convert_type_p{
    .name = "bitcast_convert_type",
    .stablehlo = "stablehlo.bitcast_convert",
    .memory = {.kind = op_kind::view,
               .strides = [](const array_type&, const array_type&, const std::int64_t*, std::int64_t&,
                             shape&) { return true; }},
    .attributes = schema<bitcast_options>,
    .infer = [](const call& c) -> array_type {
      const dtype type = c.attrs<bitcast_options>().type;
      if (size_of(type) != size_of(c[0].dtype())) return c.fail("bitcast_convert_type: width", c[0].type(), name(type));
      if ((type == bool_) != (c[0].dtype() == bool_))
        return c.fail("bitcast_convert_type: truth values", c[0].type(), name(type));
      return {type, false, c[0].shape()};
    },
    .vjp = [](const call&) -> arrays { return array(); },
    .batch = [](const call& c) -> arrays { return bind(*c.self, {c[0]}, c.attrs<bitcast_options>(), c.where); },
};

/// The same bits, read as another dtype of equal width. Truth values can be read as bool only.
/// errors  "bitcast_convert_type: width", "bitcast_convert_type: truth values"
/// source  jax.lax.bitcast_convert_type
constexpr array bitcast_convert_type(const array& x, dtype type, source_line l = source_line::current()) {
  return bind(described<bitcast_convert_type_p>(), {x}, bitcast_options{type}, l);
}

}  // namespace tokamax
