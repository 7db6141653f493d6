// tokamax/lax/top_k.hpp: the largest values of each row, and where they are.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/top_k.cpp
#pragma once

#include <tokamax/lax/gather.hpp>  // gather
#include <tokamax/lax/reduce.hpp>  // max
#include <tokamax/lax/slice.hpp>   // slice_in_dim, pad
#include <tokamax/lax/sort.hpp>    // sort

#include <limits>  // infinity

namespace tokamax {

/// The k largest values along the last axis, and their indices; of equal ones, the first come first.
struct top_k_result {
  array values, indices;
};

namespace detail {
/// How many elements of a row a chunk has, such that sorting the chunks and then the elements of k of them takes the least
/// time; 1 if the rows are too short for that, and for dtypes that have no lowest number to fill the last chunk with.
constexpr std::int64_t top_k_chunk(const array& x, std::int64_t k) {
  constexpr std::int64_t shortest = 1024,
                         fewest = 16;  // elements of a row, and of a row for each one that is asked for
  const std::int64_t n = x.extent(-1);
  if (!is_floating(x.dtype()) || bits_of(x.dtype()) < 16 || is_dynamic(x.shape()) || k < 1) return 1;
  if (n < shortest || n / fewest < k || size(x.shape()) > std::numeric_limits<std::int32_t>::max()) return 1;
  std::int64_t chunk = 1;
  while (2 * chunk * chunk <= n / k) chunk *= 2;
  return chunk;
}

/// The k largest of each row are in the k chunks of it whose largest elements are largest: the others have at least k elements
/// before each of theirs. These chunks stay in their order, so that equal elements do.
constexpr top_k_result top_k_of_chunks(const array& x, std::int64_t k, std::int64_t chunk, source_line l) {
  const std::int64_t n = x.extent(-1), rows = x.size() / (n > 0 ? n : 1), chunks = (n + chunk - 1) / chunk;
  const array lowest(-std::numeric_limits<double>::infinity(), {x.dtype(), false, {}});
  const array whole = pad(reshape(x, {rows, n}, l), lowest, {0, 0}, {0, chunks * chunk - n}, {}, l);
  const array table = reshape(whole, {rows * chunks, chunk}, l);
  const array most = reshape(max(table, {{1}}, l), {rows, chunks}, l);
  const array order = sort({most, iota(i32, {rows, chunks}, 1, l)}, 1, true, l)[1];
  const array taken = sort(slice_in_dim(order, 0, k, 1, l), 1, false, l);  // [R, k], by place
  const array of_row = iota(i32, {rows, k}, 0, l) * static_cast<int>(chunks);
  const shape s{rows, k, chunk};
  const array first = broadcast_in_dim(taken * static_cast<int>(chunk), s, {0, 1}, l);
  const shape flat{rows, k * chunk};
  const arrays found = sort(
      {reshape(gather(table, taken + of_row, l), flat, l), reshape(first + iota(i32, s, 2, l), flat, l)}, 1, true, l);
  shape result = x.shape();
  result[result.rank() - 1] = k;
  return {reshape(slice_in_dim(found[0], 0, k, 1, l), result, l),
          reshape(slice_in_dim(found[1], 0, k, 1, l), result, l)};
}
}  // namespace detail

/// The k largest values along the last axis. NaN counts as the largest value. Long rows of floats are not sorted as a whole:
/// the largest elements of chunks say which chunks the values are in.
///
/// shapes  x [..., n] -> [..., k] twice
/// dtypes  any; indices i32
/// errors  "top_k: axis" of a scalar, "top_k: k" outside 0 ... n
/// source  jax.lax.top_k
constexpr top_k_result top_k(const array& x, std::int64_t k, source_line l = source_line::current()) {
  const int axis = checked_axis("top_k: axis", -1, x, l);
  if (x.rank() == 0) return {x, x};
  const bool fits = k >= 0 && k <= x.extent(axis);
  if (!fits) reject(x, l, "top_k: k", message() << k, message("0 or more, within ") << x.type());
  const std::int64_t chunk = fits ? detail::top_k_chunk(x, k) : 1;
  if (chunk > 1) return detail::top_k_of_chunks(x, k, chunk, l);
  const arrays sorted = sort({x, iota(i32, x.shape(), axis, l)}, axis, true, l);
  return {slice_in_dim(sorted[0], 0, k, axis, l), slice_in_dim(sorted[1], 0, k, axis, l)};
}

}  // namespace tokamax
