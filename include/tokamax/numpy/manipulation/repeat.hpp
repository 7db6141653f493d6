// tokamax/numpy/manipulation/repeat.hpp: copies of elements and of whole arrays: repeat, tile, resize.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/numpy/manipulation.cpp
#pragma once

#include <tokamax/lax/cumulative.hpp>           // cumsum
#include <tokamax/lax/indexing/gather.hpp>      // scatter_add
#include <tokamax/lax/indexing/slice.hpp>       // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>   // concatenate
#include <tokamax/numpy/manipulation/axes.hpp>  // ravel
#include <tokamax/numpy/take.hpp>               // take

namespace tokamax {

/// Each element `times` times, along `axis`.
///
/// shapes  extent n -> n * times
/// errors  "repeat: axis", "repeat: times" if negative
/// source  jax.numpy.repeat
constexpr array repeat(const array& x, std::int64_t times, int axis, source_line l = source_line::current()) {
  axis = checked_axis("repeat: axis", axis, x, l);
  if (times < 0) reject(x, l, "repeat: times", message() << times, "0 or more");
  if (x.rank() == 0 || times < 0) return x;
  // A few copies of elements lie side by side when each of them is an operand. Rows of one element would be short loops.
  constexpr std::int64_t few = 8;
  const bool elements = axis + 1 == x.rank() && times > 1 && times <= few;
  shape wide, s;
  for (int i = 0; i < x.rank(); ++i) {
    wide.push_back(x.extent(i));
    if (i == axis) wide.push_back(times);
    s.push_back(i == axis ? mul_extent(x.extent(i), times) : x.extent(i));
  }
  const array one = expand_dims(x, axis + 1, l);
  if (!elements) return reshape(broadcast_to(one, wide, l), s, l);
  arrays copies;
  for (std::int64_t i = 0; i < times; ++i) copies.push_back(one);
  return reshape(concatenate(copies, axis + 1, l), s, l);
}
/// The same of all elements in row-major order.
constexpr array repeat(const array& x, std::int64_t times, source_line l = source_line::current()) {
  return repeat(ravel(x, l), times, 0, l);
}
/// Element i along `axis` times[i] times; the result has `total` of them: those beyond are dropped, and the last one fills
/// what is missing.
///
/// shapes  times [n] -> extent total
/// errors  "repeat: axis", "repeat: times"
/// source  jax.numpy.repeat with total_repeat_length
constexpr array repeat(const array& x, const array& times, int axis, std::int64_t total,
                       source_line l = source_line::current()) {
  axis = checked_axis("repeat: axis", axis, x, l);
  if (x.rank() == 0) return x;
  const std::int64_t n = x.extent(axis);
  if (!is_integer(times.dtype()) || times.shape() != shape{n}) {
    reject(x, l, "repeat: times", times.type(), message("integers [") << n << "]");
    return x;
  }
  // An element begins behind the copies of those before it; counting the beginnings gives its number.
  const array count = detail::integers_in_i32(times, l), begin = cumsum(count) - count;
  const array begins = scatter_add(begin, array(1, {i32, false, {n}}), total);
  const array number = minimum(maximum(cumsum(begins) - 1, 0), array(n - 1, {i32, false, {}}));
  return take(x, number, axis, l);
}

/// Copies of the whole array, counts[i] of them along axis i; fewer counts than axes, or axes than counts, are filled up with
/// ones in front.
///
/// errors  "tile: counts" if one is negative
/// source  jax.numpy.tile
constexpr array tile(const array& given, const shape& counts, source_line l = source_line::current()) {
  const int rank = given.rank() > counts.rank() ? given.rank() : counts.rank();
  shape all, wide, spread;
  for (int i = 0; i < rank; ++i) {
    const int a = i - rank + given.rank(), c = i - rank + counts.rank();
    const std::int64_t n = a < 0 ? 1 : given.extent(a), times = c < 0 ? 1 : counts[c];
    if (times < 0) {
      reject(given, l, "tile: counts", message() << counts, "0 or more");
      return given;
    }
    all.push_back(mul_extent(n, times));
    spread.push_back(1), spread.push_back(n);
    wide.push_back(times), wide.push_back(n);
  }
  return reshape(broadcast_to(reshape(given, spread, l), wide, l), all, l);
}

/// The elements of x in row-major order, as often as they are needed for the shape s; zeros if x has none.
/// source  jax.numpy.resize
constexpr array resize(const array& x, const shape& s, source_line l = source_line::current()) {
  const std::int64_t n = size(s);
  if (x.size() == 0) return broadcast_to(array(0.0, {x.dtype(), false, {}}), s, l);
  const array enough = tile(ravel(x, l), {(n + x.size() - 1) / x.size()}, l);
  return reshape(slice_in_dim(enough, 0, n, 0, l), s, l);
}

}  // namespace tokamax
