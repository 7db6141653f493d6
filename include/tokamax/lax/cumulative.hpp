// tokamax/lax/cumulative.hpp: running sums along an axis.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/convert.hpp>  // sums of truth values count

namespace tokamax {

/// Attributes of cumsum.
struct cumulative_options {
  axis_number axis = {};
  bool reverse = false;  ///< add from the end
};

inline constexpr op cumsum_p{
    .name = "cumsum",
    .algebra = {.linear = true},
    .precision = {.sums = true},
    .cost = {.operations = [](const call& c) -> op_cost { return {static_cast<double>(c[0].size())}; }},
    .attributes = schema<cumulative_options>,
    .infer = [](const call& c) -> array_type {
      const int axis = c.attrs<cumulative_options>().axis;
      if (axis < 0 || axis >= c[0].rank())
        return c.fail("cumsum: axis", message() << axis, message("an axis of ") << c[0].type());
      return c[0].type();
    },
    .vjp = [](const call& c) -> arrays {
      const auto [axis, reverse] = c.attrs<cumulative_options>();
      return bind(*c.self, {c.ct()}, cumulative_options{axis, !reverse}, c.where);
    },
    .batch = [](const call& c) -> arrays {
      const auto [axis, reverse] = c.attrs<cumulative_options>();
      return bind(*c.self, {c[0]}, cumulative_options{axis + 1, reverse}, c.where);
    },
    .kernels = kernels_of<cumsum_p>,
};

/// Element i of the result is the sum of the elements up to and including i along `axis` (from i on, if reversed).
///
/// shapes  any -> the same
/// dtypes  numbers; truth values become i32; sums of floats are carried in double
/// errors  "cumsum: axis"
/// source  jax.lax.cumsum
constexpr array cumsum(const array& x, int axis = -1, bool reverse = false, source_line l = source_line::current()) {
  axis = checked_axis("cumsum: axis", axis, x, l);
  if (x.dtype() == bool_) return bind(described<cumsum_p>(), {astype(x, i32)}, cumulative_options{axis, reverse}, l);
  return bind(described<cumsum_p>(), {x}, cumulative_options{axis, reverse}, l);
}

}  // namespace tokamax
