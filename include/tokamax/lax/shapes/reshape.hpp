// tokamax/lax/shapes/reshape.hpp: the same elements in row-major order under other extents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/bind.hpp>  // bind

namespace tokamax {

/// Attributes of reshape.
struct reshape_options {
  shape extents;
};

constexpr array reshape(const array& x, shape s, source_line l = source_line::current());

/// The strides of the same memory under the extents `to`. False if the elements would have to move.
constexpr bool reshape_strides(const shape& from, const shape& strides, const shape& to, shape& result) {
  shape fe, fs;  // the extents and strides of the operand, without extents of 1
  for (int i = 0; i < from.rank(); ++i)
    if (from[i] != 1) {
      fe.push_back(from[i]);
      fs.push_back(strides[i]);
    }
  result = to;
  int i = fe.rank() - 1, j = to.rank() - 1;
  while (j >= 0) {  // from the innermost axis out, match runs of equal size
    if (to[j] == 1) {
      result[j--] = 0;
      continue;
    }
    if (i < 0) return false;
    std::int64_t have = fe[i], want = to[j], inner = fs[i];
    result[j] = inner;
    while (have != want) {
      if (is_dyn(have) || is_dyn(want)) return false;
      if (have < want) {  // the run goes on with the next axis, which must continue it in memory
        if (--i < 0 || fs[i] != mul_extent(inner, have)) return false;
        if (is_dyn(fe[i])) {
          have = mul_extent(have, fe[i]);
          if (have != want) return false;
        } else {
          have *= fe[i];
        }
      } else {
        do {
          if (--j < 0) return false;
        } while (to[j] == 1 && (result[j] = 0, true));
        result[j] = mul_extent(inner, want);
        if (is_dyn(to[j])) return false;
        want *= to[j];
      }
    }
    --i;
    --j;
  }
  return i < 0;
}

inline constexpr op reshape_p{
    .name = "reshape",
    .stablehlo = "stablehlo.reshape",
    .algebra = {.linear = true},
    .memory = {.kind = op_kind::view,
               .strides =
                   [](const array_type& operand, const array_type& result, const std::int64_t*, std::int64_t&,
                      shape& strides) {
                     shape s;
                     if (!reshape_strides(operand.shape, strides, result.shape, s)) {
                       if (!is_row_major(operand.shape, strides)) return false;
                       s = row_major(result.shape);  // dynamic extents that cannot be compared
                     }
                     strides = s;
                     return true;
                   }},
    .attributes = schema<reshape_options>,
    .infer = [](const call& c) -> array_type {
      const shape s = c.attrs<reshape_options>().extents;
      if (size(s) != c[0].size())
        return c.fail("reshape: number of elements", c[0].type(), message("as many as in ") << s);
      return {c[0].dtype(), c[0].type().weak, s};
    },
    .vjp = [](const call& c) -> arrays { return reshape(c.ct(), c[0].shape()); },
    .batch = [](const call& c) -> arrays {
      shape s{c.batch_size};
      for (std::int64_t e : c.attrs<reshape_options>().extents) s.push_back(e);
      return reshape(c[0], s);
    },
    .simplify = [](const call& c) -> array {
      const shape s = c.attrs<reshape_options>().extents;
      if (c[0].shape() == s) return c[0];
      const node& n = (*c.trace)[c[0].id()];
      if (n.op == &constant_p)
        return lift(*c.trace, array(constant_bits(*c.trace, n), {n.type.dtype, n.type.weak, s}), c.where);
      if (n.op != &reshape_p) return {};
      const int id = c.trace->operand(n, 0);
      return reshape(array(c.trace, id, (*c.trace)[id].type), s);
    },
};

/// The elements of `x` in row-major order, with the extents `s`. One extent may be -1, and is computed from the others.
///
/// shapes  any -> s
/// errors  "reshape: number of elements"; "reshape: extents" for other negative extents, or for a -1 beside a 0
/// source  jax.numpy.reshape
constexpr array reshape(const array& x, shape s, source_line l) {
  for (int i = 0; i < s.rank(); ++i) {
    if (s[i] != -1) continue;
    const shape asked = s;
    s[i] = 1;
    const std::int64_t known = size(s), n = x.size();
    if (known == 0 || !are_extents(s)) {
      reject(x, l, "reshape: extents", message() << asked, "extents from 1 on beside one -1");
      return x;
    }
    s[i] = div_extent(n, known);
    break;
  }
  if (!are_extents(s)) {
    reject(x, l, "reshape: extents", message() << s, "extents from 0 on, or one -1");
    return x;
  }
  if (x.shape() == s) return x;
  if (x.is_literal() && size(s) == x.size()) return x.reshaped(s);
  return bind(described<reshape_p>(), {x}, reshape_options{s}, l);
}

/// `x` with an extent of 1 inserted so that it becomes axis `axis` of the result.
/// errors  "expand_dims: axis"
constexpr array expand_dims(const array& x, int axis, source_line l = source_line::current()) {
  axis = checked_axis("expand_dims: axis", axis, x, l, 1);
  shape s;
  for (int i = 0; i <= x.rank(); ++i) {
    if (i == axis) s.push_back(1);
    if (i < x.rank()) s.push_back(x.extent(i));
  }
  return reshape(x, s, l);
}

/// `x` without the axis `axis`, whose extent must be 1.
/// errors  "squeeze: axis", "reshape: number of elements"
constexpr array squeeze(const array& x, int axis, source_line l = source_line::current()) {
  axis = checked_axis("squeeze: axis", axis, x, l);
  shape s;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) s.push_back(x.extent(i));
  return reshape(x, s, l);
}

}  // namespace tokamax
