// tokamax/lax/sort.hpp: stable sorting by a key: sort, argsort.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/arrays_of.hpp>  // arrays_of
#include <tokamax/lax/iota.hpp>        // iota: argsort

namespace tokamax {

/// Attributes of sort.
struct sort_options {
  axis_number axis = {};
  bool descending = false;
};

namespace detail {
constexpr arrays sort_all(const op& o, const arrays& operands, const sort_options& options, location where) {
  return bind_all(o, operands.data(), operands.count(), pack(options), where);
}
/// n log2 n for each row of n elements.
constexpr op_cost sort_cost(const call& c) {
  const std::int64_t n = c[0].extent(c.attrs<sort_options>().axis);
  const int halvings = n > 1 ? static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1))) : 0;
  return {static_cast<double>(c[0].size()) * halvings};
}
}  // namespace detail

/// Moves all operands as sorting the first one requires. NaN counts as the largest value; equal keys keep their order.
inline constexpr op sort_p{
    .name = "sort",
    .stablehlo = "stablehlo.sort",
    .cost = {.operations = detail::sort_cost},
    .attributes = schema<sort_options>,
    .infer_all = [](const call& c) -> types {
      const int axis = c.attrs<sort_options>().axis;
      if (axis < 0 || axis >= c[0].rank())
        c.fail("sort: axis", message() << axis, message("an axis of ") << c[0].type());
      types ts;
      for (int k = 0; k < c.count; ++k) {
        if (!(c[k].shape() == c[0].shape())) c.fail("sort: shapes", c[k].type(), c[0].type());
        ts.push_back({c[k].dtype(), false, c[k].shape()});
      }
      return ts;
    },
    .vjp = [](const call& c) -> arrays {
      // Where each element came from; sorting the cotangents by that puts them back.
      const auto o = c.attrs<sort_options>();
      const array from = detail::sort_all(*c.self, {c[0], iota(i32, c[0].shape(), o.axis)}, o, c.where)[1];
      arrays back{from};
      for (int k = 0; k < c.count; ++k)
        if (c.needs(k) && c.cotangents[k].exists()) back.push_back(c.cotangents[k]);
      const arrays moved = detail::sort_all(*c.self, back, {o.axis, false}, c.where);
      arrays out;
      for (int k = 0, j = 1; k < c.count; ++k)
        out.push_back(c.needs(k) && c.cotangents[k].exists() ? moved[j++] : array());
      return out;
    },
    .jvp = [](const call& c) -> arrays {
      arrays with{c[0]};
      for (int k = 0; k < c.count; ++k)
        if (c.tangents[k].exists()) with.push_back(c.tangents[k]);
      const arrays moved = detail::sort_all(*c.self, with, c.attrs<sort_options>(), c.where);
      arrays out;
      for (int k = 0, j = 1; k < c.count; ++k) out.push_back(c.tangents[k].exists() ? moved[j++] : array());
      return out;
    },
    .batch = [](const call& c) -> arrays {
      const auto o = c.attrs<sort_options>();
      return detail::sort_all(*c.self, with_batch_axis(c), {o.axis + 1, o.descending}, c.where);
    },
    .kernels = kernels_of<sort_p>,
};

/// Sorts the first operand along `axis` and moves the others with it. The order of equal keys stays.
///
/// shapes  all equal -> the same
/// dtypes  any
/// errors  "sort: operands" if there are none, "sort: axis", "sort: shapes"
/// source  jax.lax.sort
constexpr arrays sort(const arrays& operands, int axis = -1, bool descending = false,
                      source_line l = source_line::current()) {
  if (operands.empty()) return detail::impossible(f32, "sort: operands", "none", "one or more", l);
  return detail::sort_all(described<sort_p>(), operands, {checked_axis("sort: axis", axis, operands[0], l), descending},
                          l);
}
/// The same for a list in braces: `auto [keys, values] = sort({keys, values})`.
template <std::size_t Count>
constexpr arrays_of<Count> sort(const array (&operands)[Count], int axis = -1, bool descending = false,
                                source_line l = source_line::current()) {
  return sort(arrays(operands, Count), axis, descending, l);
}
constexpr array sort(const array& x, int axis = -1, bool descending = false, source_line l = source_line::current()) {
  return sort(arrays{x}, axis, descending, l)[0];
}

/// The indices that sort `x` along `axis`; stable.
/// dtypes  any -> `type`, i32 or i64
/// errors  "argsort: axis", "argsort: dtype"
/// source  jax.numpy.argsort
constexpr array argsort(const array& x, int axis = -1, bool descending = false, dtype type = i32,
                        source_line l = source_line::current()) {
  axis = checked_axis("argsort: axis", axis, x, l);
  if (type != i32 && type != i64) reject(x, l, "argsort: dtype", name(type), "i32 or i64");
  return sort({x, iota(type, x.shape(), axis, l)}, axis, descending, l)[1];
}

}  // namespace tokamax
