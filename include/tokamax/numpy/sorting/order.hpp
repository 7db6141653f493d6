// tokamax/numpy/sorting/order.hpp: orders by several keys, partitions, and places in sorted arrays.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/sorting.cpp
#pragma once

#include <tokamax/lax/indexing/search_sorted.hpp>  // search_sorted
#include <tokamax/lax/shapes/reverse.hpp>          // reverse
#include <tokamax/lax/sort.hpp>                    // sort
#include <tokamax/numpy/take.hpp>                  // take
#include <tokamax/numpy/take_along_axis.hpp>       // take_along_axis

namespace tokamax {

/// The indices that sort by the last of some keys, and by the ones before it where that is equal.
///
/// shapes  all equal -> the same
/// errors  "lexsort: keys" if there are none, "argsort: axis", "take_along_axis: indices"
/// source  jax.numpy.lexsort
constexpr array lexsort(const arrays& keys, int axis = -1, source_line l = source_line::current()) {
  if (keys.empty()) return detail::impossible(i32, "lexsort: keys", "none", "one or more", l);
  array order = argsort(keys[0], axis, false, i32, l);  // sorting is stable, so the last key counts most
  for (int k = 1; k < keys.count(); ++k) {
    const array next = argsort(take_along_axis(keys[k], order, axis, l), axis, false, i32, l);
    order = take_along_axis(order, next, axis, l);
  }
  return order;
}

/// x in an order in which the element that belongs at place k is there, no smaller one behind it and no larger one before
/// it; here the sorted one. And the indices of it.
///
/// errors  "partition: axis", "partition: k" outside of the axis
/// source  jax.numpy.partition, argpartition, whose order on each side of k is not defined
constexpr array partition(const array& x, std::int64_t k, int axis = -1, source_line l = source_line::current()) {
  axis = checked_axis("partition: axis", axis, x, l);
  if (x.rank() == 0) return x;
  if (k < -x.extent(axis) || k >= x.extent(axis))
    reject(x, l, "partition: k", message() << k, message("a place along axis ") << axis);
  return sort(x, axis, false, l);
}
constexpr array argpartition(const array& x, std::int64_t k, int axis = -1, source_line l = source_line::current()) {
  axis = checked_axis("partition: axis", axis, x, l);
  if (x.rank() == 0) return zeros({}, i32);
  if (k < -x.extent(axis) || k >= x.extent(axis))
    reject(x, l, "partition: k", message() << k, message("a place along axis ") << axis);
  return argsort(x, axis, false, i32, l);
}

/// Before or behind equal elements.
enum class search_side : std::uint8_t { left, right };

/// The place in the sorted array `a` at which each number would be put to keep it sorted; NaN counts as the largest.
/// Each number is compared with log2(n) elements.
///
/// shapes  a [n], v [...] -> [...]
/// dtypes  -> i32
/// errors  "searchsorted: operand" if a has not one axis
/// source  jax.numpy.searchsorted
constexpr array searchsorted(const array& a, const array& v, search_side side = search_side::left,
                             source_line l = source_line::current()) {
  if (a.rank() != 1) {
    reject(a, l, "searchsorted: operand", a.type(), "one axis");
    return a;
  }
  const promoted p = promote({a.dtype(), a.type().weak}, {v.dtype(), v.type().weak});
  return search_sorted(astype(a, p.type, l), astype(v, p.type, l), {side == search_side::right}, l);
}
/// The number of the interval between increasing (or decreasing) edges that each element lies in. With `right`, intervals
/// include their right edge.
///
/// shapes  x [...], bins [n] -> [...], 0 to n
/// errors  "searchsorted: operand"
/// source  jax.numpy.digitize
constexpr array digitize(const array& x, const array& bins, bool right = false,
                         source_line l = source_line::current()) {
  if (bins.rank() != 1) {
    reject(bins, l, "digitize: bins", bins.type(), "one axis");
    return x;
  }
  const std::int64_t n = bins.extent(0);
  if (n == 0) return zeros(x.shape(), i32);
  const search_side side = right ? search_side::left : search_side::right;
  const array up = searchsorted(bins, x, side, l);
  const array down = array(n, {i32, false, {}}) - searchsorted(reverse(bins, {0}), x, side, l);
  const array increasing = take(bins, array(n - 1, {i32, false, {}})) >= take(bins, array(0, {i32, false, {}}));
  return select(broadcast_to(increasing, x.shape()), up, down);
}

}  // namespace tokamax
