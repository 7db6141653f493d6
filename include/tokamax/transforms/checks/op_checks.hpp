// tokamax/transforms/checks/op_checks.hpp: what can go wrong in a call of each op: NaN, divisions by zero, indices outside.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/checks/checkify.cpp
// umbrella: no (part of checkify)
#pragma once

#include <tokamax/lax/elementwise/division.hpp>       // quotient_p
#include <tokamax/lax/indexing/dynamic_slice.hpp>     // dynamic_slice_p
#include <tokamax/lax/indexing/gather.hpp>            // gather_p, scatter_add_p
#include <tokamax/lax/indexing/scatter.hpp>           // scatter_p
#include <tokamax/lax/indexing/take_along.hpp>        // take_along_p
#include <tokamax/lax/reduce.hpp>                     // any
#include <tokamax/transforms/checks/check_error.hpp>  // check_set

namespace tokamax::detail {

/// Something that has gone wrong if `failed` holds, and the values that the message names.
struct op_check {
  check_set kind;
  array failed;
  arrays values;
};

template <const op&... Ops>
bool is_one_of(const op* o) {
  return ((o == descriptor_of<Ops>()) || ...);
}

/// Can an op make a NaN? Those that only move or choose values cannot: JAX, too, blames none of them for the NaN of an
/// argument.
inline bool can_make_nan(const op& o) {
  if (o.algebra.conversion || is_one_of<select_p, max_p, min_p, neg_p, abs_p, sign_p, floor_p, ceil_p, round_p>(&o))
    return false;
  const bool computes = o.memory.kind == op_kind::elementwise || has_algorithm(o) || o.precision.sums ||
                        o.reduction.combines == combiner::add || (o.compose && !o.precision.selects) || o.run;
  return computes && !(o.attributes.has_bodies() && (o.bodies.carries || o.bodies.branches || o.compose));
}

/// The lowest i32 stands for the elements that a mask does not choose.
inline constexpr std::int64_t not_chosen = -2147483648;

/// The check that indices lie in [0, last] along one axis of `size` elements. The message names the first one that does not.
inline op_check index_check(const array& indices, std::int64_t last, int axis, std::int64_t size) {
  const array i = convert_element_type(reshape(indices, {indices.size()}), i64);
  const auto number = [](std::int64_t v) { return array(v, {i64, false, {}}); };
  const array outside = logical_and(logical_or(i<number(0), i> number(last)), i != number(not_chosen));
  const array first = argmax(convert_element_type(outside, i32), 0);
  return {index_checks, any(outside), {dynamic_index_in_dim(i, first, 0, false), number(axis), number(size)}};
}
inline void add_index_checks(vec<op_check>& out, const call& c) {
  const op* const o = c.self;
  if (is_one_of<dynamic_slice_p, dynamic_update_slice_p>(o)) {
    const auto w = c.attrs<dynamic_slice_options>();
    const int first = c.count - (c[0].rank() - w.batch);
    for (int k = first; k < c.count; ++k) {
      const int axis = w.batch + k - first;
      const std::int64_t n = c[0].extent(axis);
      const array extent(n, {c[k].dtype(), false, {}}), zero = zeros_like(c[k]);
      if (c[k].size() == 0) continue;
      const array start = select(c[k] < zero, c[k] + extent, c[k]);  // negative starts count from the end
      out.push_back(index_check(start, n - w.sizes[k - first], axis, n));
    }
  } else if (is_one_of<gather_p, scatter_add_onto_p>(o)) {
    if (c[1].size() > 0) out.push_back(index_check(c[1], c[0].extent(0) - 1, 0, c[0].extent(0)));
  } else if (is_one_of<take_along_p>(o)) {
    const int axis = c.attrs<take_along_options>().axis;
    const std::int64_t n = c[0].extent(axis);
    const array extent(n, {i32, false, {}});
    if (c[1].size() > 0) out.push_back(index_check(select(c[1] < 0, c[1] + extent, c[1]), n - 1, axis, n));
  } else if (is_one_of<scatter_add_p>(o)) {
    const std::int64_t rows = c.attrs<scatter_attributes>().rows;
    if (c[0].size() > 0) out.push_back(index_check(c[0], rows - 1, 0, rows));
  } else if (is_one_of<scatter_p>(o)) {
    std::int64_t rows = 1;
    const auto axes = static_cast<int>(c.attrs<scatter_options>().axes);
    for (int i = 0; i < axes; ++i) rows *= c[0].extent(i);
    if (c[1].size() > 0) out.push_back(index_check(c[1], rows - 1, 0, rows));
  }
}

/// All that can go wrong in a call of an op, of the kinds in `wanted`, in the order in which JAX asks.
inline vec<op_check> checks_of(const call& c, const arrays& results, check_set wanted) {
  vec<op_check> out;
  if (wanted.has(index_checks)) add_index_checks(out, c);
  if (wanted.has(div_checks) && is_one_of<div_p, quotient_p>(c.self))
    out.push_back({div_checks, any(c[1] == zeros_like(c[1])), {}});
  if (wanted.has(nan_checks) && can_make_nan(*c.self))
    for (const array& y : results)
      if (is_floating(y.dtype())) out.push_back({nan_checks, any(y != y), {}});
  return out;
}

}  // namespace tokamax::detail
