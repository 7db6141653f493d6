// tokamax/numpy/manipulation/join.hpp: arrays put together and taken apart: hstack, append, block, array_split, unstack.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/manipulation.cpp
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>   // concatenate
#include <tokamax/lax/shapes/split.hpp>         // split
#include <tokamax/numpy/manipulation/axes.hpp>  // atleast_2d

namespace tokamax {

/// Arrays beside one another along the first axis (vstack: as rows), the second (hstack; the first of arrays with one
/// axis) or the third (dstack); column_stack takes arrays of one axis as columns.
///
/// dtypes  promoted to one
/// errors  "concatenate: operands" if there are none, "concatenate: operand"
/// source  jax.numpy.vstack, hstack, dstack, column_stack
constexpr array vstack(const arrays& xs, source_line l = source_line::current()) {
  arrays rows;
  for (const array& x : xs) rows.push_back(atleast_2d(x, l));
  return concatenate(rows, 0, l);
}
constexpr array hstack(const arrays& xs, source_line l = source_line::current()) {
  arrays parts;
  for (const array& x : xs) parts.push_back(atleast_1d(x, l));
  return concatenate(parts, parts.count() && parts[0].rank() == 1 ? 0 : 1, l);
}
constexpr array dstack(const arrays& xs, source_line l = source_line::current()) {
  arrays planes;
  for (const array& x : xs) planes.push_back(atleast_3d(x, l));
  return concatenate(planes, 2, l);
}
constexpr array column_stack(const arrays& xs, source_line l = source_line::current()) {
  arrays columns;
  for (const array& x : xs) {
    if (x.rank() < 2)
      columns.push_back(reshape(x, {x.size(), 1}, l));
    else
      columns.push_back(x);
  }
  return concatenate(columns, 1, l);
}

/// The elements of `values` behind those of x: along `axis`, or all elements of both along one axis.
/// errors  "concatenate: axis", "concatenate: operand"
/// source  jax.numpy.append
constexpr array append(const array& x, const array& values, source_line l = source_line::current()) {
  return concatenate({ravel(x, l), ravel(values, l)}, 0, l);
}
constexpr array append(const array& x, const array& values, int axis, source_line l = source_line::current()) {
  return concatenate({x, values}, axis, l);
}

/// A matrix of blocks: the arrays of each list side by side, the lists below one another.
/// errors  those of concatenate
/// source  jax.numpy.block, of nested lists of depth 2
constexpr array block(std::initializer_list<arrays> rows, source_line l = source_line::current()) {
  arrays lines;
  for (const arrays& row : rows) {
    arrays parts;
    for (const array& x : row) parts.push_back(atleast_2d(x, l));
    lines.push_back(concatenate(parts, -1, l));
  }
  return concatenate(lines, -2, l);
}

/// Parts of one axis: `parts` of nearly equal size, of which the first ones are longer by one.
///
/// errors  "array_split: axis", "array_split: parts"
/// source  jax.numpy.array_split
constexpr arrays array_split(const array& x, int parts, int axis = 0, source_line l = source_line::current()) {
  axis = checked_axis("array_split: axis", axis, x, l);
  if (x.rank() == 0) return x;
  if (parts < 1) {
    reject(x, l, "array_split: parts", message() << parts, "1 or more");
    return x;
  }
  words sizes;
  for (int i = 0; i < parts; ++i) sizes.push_back(x.extent(axis) / parts + (i < x.extent(axis) % parts));
  return split(x, sizes, axis, l);
}
/// Parts that begin at 0 and at the positions `at`, which increase.
/// errors  "split_at: axis", "split_at: positions" if they do not increase or lie outside of the axis
/// source  jax.numpy.split with a list of indices
constexpr arrays split_at(const array& x, const shape& at, int axis = 0, source_line l = source_line::current()) {
  axis = checked_axis("split_at: axis", axis, x, l);
  if (x.rank() == 0) return x;
  words sizes;
  std::int64_t from = 0;
  for (int i = 0; i <= at.rank(); ++i) {
    const std::int64_t to = i < at.rank() ? at[i] : x.extent(axis);
    if (to < from) {
      reject(x, l, "split_at: positions", message() << at, message("increasing ones within ") << x.extent(axis));
      return x;
    }
    sizes.push_back(to - from);
    from = to;
  }
  return split(x, sizes, axis, l);
}
/// `parts` equal parts along the first (vsplit), second (hsplit; the first if it is the only one) or third axis (dsplit).
/// errors  those of split
/// source  jax.numpy.vsplit, hsplit, dsplit
constexpr arrays vsplit(const array& x, int parts, source_line l = source_line::current()) {
  return split(x, parts, 0, l);
}
constexpr arrays hsplit(const array& x, int parts, source_line l = source_line::current()) {
  return split(x, parts, x.rank() == 1 ? 0 : 1, l);
}
constexpr arrays dsplit(const array& x, int parts, source_line l = source_line::current()) {
  return split(x, parts, 2, l);
}
/// One array for each position along `axis`, without that axis.
/// errors  "unstack: axis"
/// source  jax.numpy.unstack
constexpr arrays unstack(const array& x, int axis = 0, source_line l = source_line::current()) {
  axis = checked_axis("unstack: axis", axis, x, l);
  if (x.rank() == 0) return x;
  arrays out;
  for (std::int64_t i = 0; i < x.extent(axis); ++i) out.push_back(squeeze(slice_in_dim(x, i, i + 1, axis, l), axis, l));
  return out;
}

}  // namespace tokamax
