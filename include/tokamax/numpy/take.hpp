// tokamax/numpy/take.hpp: elements by index along one axis.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/indexing/gather.cpp
#pragma once

#include <tokamax/lax/indexing/gather.hpp>  // gather

namespace tokamax {

/// Elements of `x` by index along one axis; negative indices count from the end, others outside give NaN.
///
/// shapes  x [..., R, ...], indices [...] -> indices.shape in the place of axis
/// dtypes  indices i32, i64, or an integer literal
/// errors  "take: axis", "take: extent", "gather: index dtype"
/// source  jax.numpy.take
constexpr array take(const array& x, const array& indices, int axis = 0, source_line l = source_line::current()) {
  axis = checked_axis("take: axis", axis, x, l);
  if (x.rank() == 0) return x;
  if (x.extent(axis) > most_indices) {
    reject(x.trace() ? x.trace() : indices.trace(), l, "take: extent", message() << x.extent(axis),
           message("at most ") << most_indices);
    return x;
  }
  array i = indices;
  if (i.is_literal() && is_integer(i.dtype())) i = detail::integers_in_i32(indices, l);
  i = select(i < 0, i + detail::extent_operand(x.extent(axis), l), i, l);
  if (axis == 0) return gather(x, i, l);
  axes front{axis};
  for (int k = 0; k < x.rank(); ++k)
    if (k != axis) front.push_back(k);
  const array y = gather(transpose(x, front, l), i, l);  // [indices..., others]
  axes back;
  for (int k = 0; k < axis; ++k) back.push_back(i.rank() + k);
  for (int k = 0; k < i.rank(); ++k) back.push_back(k);
  for (int k = i.rank() + axis; k < y.rank(); ++k) back.push_back(k);
  return transpose(y, back, l);
}

}  // namespace tokamax
