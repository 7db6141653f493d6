// tokamax/lax/shapes/transpose.hpp: permute the axes of an array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/bind.hpp>  // bind

namespace tokamax {

/// Attributes of transpose.
struct transpose_options {
  tokamax::permutation permutation = {};  ///< axis of the operand that becomes axis i
};

constexpr array transpose(const array& x, const axes& permutation, source_line l = source_line::current());

inline constexpr op transpose_p{
    .name = "transpose",
    .stablehlo = "stablehlo.transpose",
    .algebra = {.linear = true},
    .memory = {.kind = op_kind::view,
               .strides =
                   [](const array_type&, const array_type&, const std::int64_t* w, std::int64_t&, shape& strides) {
                     const axes p = unpack<transpose_options>(w).permutation;
                     const shape before = strides;
                     for (int i = 0; i < p.rank(); ++i) strides[i] = before[static_cast<int>(p[i])];
                     return true;
                   }},
    .attributes = schema<transpose_options>,
    .infer = [](const call& c) -> array_type {
      const axes p = c.attrs<transpose_options>().permutation;
      array_type t = c[0].type();
      bool ok = p.rank() == t.shape.rank();
      for (int i = 0; ok && i < p.rank(); ++i) ok = p.contains(i);
      if (!ok) return c.fail("transpose: permutation", message() << p, message("of the axes of ") << c[0].type());
      for (int i = 0; i < p.rank(); ++i) t.shape[i] = c[0].extent(static_cast<int>(p[i]));
      return t;
    },
    .vjp = [](const call& c) -> arrays {
      const axes p = c.attrs<transpose_options>().permutation;
      axes inverse = p;
      for (int i = 0; i < p.rank(); ++i) inverse[static_cast<int>(p[i])] = i;
      return transpose(c.ct(), inverse);
    },
    .batch = [](const call& c) -> arrays {
      axes p{0};
      for (std::int64_t v : c.attrs<transpose_options>().permutation) p.push_back(v + 1);
      return transpose(c[0], p);
    },
    .simplify = [](const call& c) -> array {
      const axes p = c.attrs<transpose_options>().permutation;
      if (p == iota_axes(p.rank())) return c[0];
      const node& n = (*c.trace)[c[0].id()];
      if (n.op == &constant_p) return lift(*c.trace, array(constant_bits(*c.trace, n), c.type), c.where);
      if (n.op != &transpose_p) return {};
      const call inner{.attributes = c.trace->words_of(n), .attribute_count = n.word_count};
      const axes q = inner.attrs<transpose_options>().permutation;
      axes through;
      for (std::int64_t v : p) through.push_back(q[static_cast<int>(v)]);
      const int id = c.trace->operand(n, 0);
      return transpose(array(c.trace, id, (*c.trace)[id].type), through);
    },
};

/// Axis permutation[i] of `x` becomes axis i.
///
/// shapes  x [d0, ..., dn] -> [d_permutation[0], ...]
/// errors  "transpose: permutation" if it is none of the axes of x
/// source  jax.lax.transpose
constexpr array transpose(const array& x, const axes& permutation, source_line l) {
  return bind(described<transpose_p>(), {x}, transpose_options{permutation}, l);
}

/// All axes in reverse order, as numpy.transpose does.
constexpr array transpose(const array& x, source_line l = source_line::current()) {
  axes p;
  for (int i = x.rank() - 1; i >= 0; --i) p.push_back(i);
  return transpose(x, p, l);
}

/// Axes `a` and `b` exchanged.
/// errors  "swapaxes: axis"
constexpr array swapaxes(const array& x, int a, int b, source_line l = source_line::current()) {
  axes p = iota_axes(x.rank());
  a = checked_axis("swapaxes: axis", a, x, l);
  b = checked_axis("swapaxes: axis", b, x, l);
  if (x.rank() == 0) return x;
  p[a] = b;
  p[b] = a;
  return transpose(x, p, l);
}

}  // namespace tokamax
