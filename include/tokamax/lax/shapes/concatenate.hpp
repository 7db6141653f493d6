// tokamax/lax/shapes/concatenate.hpp: arrays one after the other along an axis, old or new.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/indexing/slice.hpp>  // slice_in_dim

namespace tokamax {

/// Attributes of concatenate.
struct concatenate_options {
  axis_number axis = {};
};

namespace detail {
constexpr array concatenate_along(const op& o, const arrays& xs, int axis, location where) {
  return bind_all(o, xs.data(), xs.count(), pack(concatenate_options{axis}), where)[0];
}
}  // namespace detail

inline constexpr op concatenate_p{
    .name = "concatenate",
    .stablehlo = "stablehlo.concatenate",
    .algebra = {.linear = true},
    .memory = {.joins = true},
    .attributes = schema<concatenate_options>,
    .infer = [](const call& c) -> array_type {
      const int axis = c.attrs<concatenate_options>().axis;
      array_type t = c[0].type();
      if (axis < 0 || axis >= t.shape.rank())
        return c.fail("concatenate: axis", message() << axis, message("an axis of ") << t);
      for (int k = 1; k < c.count; ++k) {
        bool ok = c[k].dtype() == t.dtype && c[k].rank() == t.shape.rank();
        for (int i = 0; ok && i < t.shape.rank(); ++i) ok = i == axis || c[k].extent(i) == t.shape[i];
        if (!ok)
          return c.fail("concatenate: operand", c[k].type(),
                        message("extents of ") << c[0].type() << " but on axis " << axis);
        t.shape[axis] = add_extent(t.shape[axis], c[k].extent(axis));
        t.weak = t.weak && c[k].type().weak;
      }
      return t;
    },
    .vjp = [](const call& c) -> arrays {
      const int axis = c.attrs<concatenate_options>().axis;
      arrays out;
      std::int64_t at = 0;
      for (int k = 0; k < c.count; ++k) {
        const std::int64_t end = add_extent(at, c[k].extent(axis));
        out.push_back(c.needs(k) ? slice_in_dim(c.ct(), at, end, axis) : array());
        at = end;
      }
      return out;
    },
    .batch = [](const call& c) -> arrays {
      return detail::concatenate_along(*c.self, with_batch_axis(c), c.attrs<concatenate_options>().axis + 1, c.where);
    },
    .simplify = [](const call& c) -> array { return c.count == 1 ? c[0] : array(); },
    .kernels = kernels_of<concatenate_p>,
};

/// The operands one after the other along `axis`.
///
/// shapes  equal but for `axis`
/// dtypes  promoted to one
/// errors  "concatenate: operands" if there are none, "concatenate: axis", "concatenate: operand"
/// source  jax.numpy.concatenate
constexpr array concatenate(const arrays& xs, int axis = 0, source_line l = source_line::current()) {
  if (xs.empty()) return detail::impossible(f32, "concatenate: operands", "none", "one or more", l);
  promoted p{xs[0].dtype(), xs[0].type().weak};
  for (const array& x : xs) p = promote(p, {x.dtype(), x.type().weak});
  arrays in;
  for (const array& x : xs) in.push_back(convert_element_type(x, p.type, p.weak, l));
  return detail::concatenate_along(described<concatenate_p>(), in, checked_axis("concatenate: axis", axis, xs[0], l),
                                   l);
}

/// The operands one after the other along a new axis, which becomes axis `axis` of the result.
/// shapes  all equal
/// errors  "stack: operands" if there are none, "expand_dims: axis", "concatenate: operand"
/// source  jax.numpy.stack
constexpr array stack(const arrays& xs, int axis = 0, source_line l = source_line::current()) {
  if (xs.empty()) return detail::impossible(f32, "stack: operands", "none", "one or more", l);
  arrays in;
  for (const array& x : xs) in.push_back(expand_dims(x, axis, l));
  return concatenate(in, axis, l);
}

/// The extents as an array, [rank].
///
/// dtypes  i32
/// errors  "shape_as_value: extent" if one is not known while tracing, or has no i32
/// source  jax.lax.shape_as_value
constexpr array shape_as_value(const shape& s, source_line l = source_line::current()) {
  if (s.rank() == 0) return array(0, {i32, false, {0}});
  arrays each;
  for (std::int64_t n : s) {
    if (is_dyn(n) || n < 0 || n > 0x7fffffff) {
      reject(nullptr, l, "shape_as_value: extent", message() << s, "known extents below 2^31");
      return array(0, {i32, false, {0}});
    }
    each.push_back(array(n, {i32, false, {}}));
  }
  return stack(each, 0, l);
}

}  // namespace tokamax
