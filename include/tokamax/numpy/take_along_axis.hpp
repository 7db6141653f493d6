// tokamax/numpy/take_along_axis.hpp: one index per line of an array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/gather.hpp>  // gather

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
  if (x.size() > most_indices) {  // positions are i32
    here.fail("take_along_axis: elements", x.type(), message("at most ") << most_indices);
    return x;
  }
  const auto number = [](double v) { return array(v, {i32, false, {}}); };
  const double n = static_cast<double>(x.extent(axis));
  const array i = select(indices < number(0), indices + number(n), indices, l);
  const array inside = logical_and(i >= number(0), i < number(n), l);
  array at = zeros(indices.shape(), i32);  // position in row-major order
  double stride = 1;
  for (int k = x.rank() - 1; k >= 0; --k) {
    array along = i;
    if (k != axis) along = iota(i32, indices.shape(), k, l);
    at = at + along * number(stride);
    stride *= static_cast<double>(x.extent(k));
  }
  return gather(reshape(x, {x.size()}, l), select(inside, at, number(-1), l), l);
}

}  // namespace tokamax
