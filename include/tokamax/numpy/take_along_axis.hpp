// tokamax/numpy/take_along_axis.hpp: one index per line of an array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/indexing/take_along.hpp>  // take_along_p

namespace tokamax {

/// y[..., j, ...] = x[..., indices[..., j, ...], ...] along `axis`; negative indices count from the end, others outside
/// give NaN.
///
/// shapes  x and indices have equal extents but for `axis` -> indices.shape
/// dtypes  indices i32 or i64
/// errors  "take_along_axis: axis", "take_along_axis: indices", "take_along_axis: elements" for more than 2147483647
/// source  jax.numpy.take_along_axis
constexpr array take_along_axis(const array& x, const array& given, int axis = -1,
                                source_line l = source_line::current()) {
  const array indices = detail::index_in_i32(given);
  axis = checked_axis("take_along_axis: axis", axis, x, l);
  if (x.rank() == 0) return x;
  bool ok = indices.dtype() == i32 && indices.rank() == x.rank();
  for (int i = 0; ok && i < x.rank(); ++i) ok = i == axis || indices.extent(i) == x.extent(i);
  const call here{.inputs = &indices, .count = 1, .trace = x.trace() ? x.trace() : indices.trace(), .where = l};
  if (!ok) {
    here.fail("take_along_axis: indices", indices.type(), message("i32 or i64 shaped like ") << x.type());
    return x;
  }
  return bind(described<take_along_p>(), {x, indices}, take_along_options{axis}, l);
}

}  // namespace tokamax
