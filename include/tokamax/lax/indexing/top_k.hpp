// tokamax/lax/indexing/top_k.hpp: the largest values of each row, and where they are.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/indexing/top_k.cpp
#pragma once

#include <tokamax/lax/indexing/gather.hpp>   // gather
#include <tokamax/lax/indexing/scatter.hpp>  // scatter_add
#include <tokamax/lax/indexing/slice.hpp>    // slice_in_dim, pad
#include <tokamax/lax/reduce.hpp>            // max
#include <tokamax/lax/sort.hpp>              // sort

#include <limits>  // infinity

namespace tokamax {

/// The k largest values along the last axis, and their indices; of equal ones, the first come first.
struct top_k_result {
  array values, indices;
};
/// Attributes of top_k: how many values of each row.
struct top_k_options {
  std::int64_t k = 0;
};

constexpr top_k_result top_k(const array& x, std::int64_t k, source_line l = source_line::current());

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
/// The k largest of whole rows that are sorted.
constexpr top_k_result top_k_of_sorted(const array& x, std::int64_t k, source_line l) {
  const int axis = x.rank() - 1;
  const arrays sorted = sort({x, iota(i32, x.shape(), axis, l)}, axis, true, l);
  return {slice_in_dim(sorted[0], 0, k, axis, l), slice_in_dim(sorted[1], 0, k, axis, l)};
}
/// The numbers of elements of rows of n, counted through all rows, as one axis; `indices` [..., k] count from the start of each.
constexpr array places_in_rows(const array& indices, std::int64_t n) {
  const std::int64_t k = indices.extent(-1), rows = indices.size() / (k > 0 ? k : 1);
  const array at = reshape(indices, {rows, k}) + iota(i32, {rows, k}, 0) * static_cast<int>(n);
  return reshape(at, {rows * k});
}
/// Can all elements of x be counted in i32?
constexpr bool has_few_elements(const array& x) {
  return !is_dynamic(x.shape()) && size(x.shape()) <= std::numeric_limits<std::int32_t>::max();
}
}  // namespace detail

/// The k largest of each row and where they are, as one op, so that a backend need not sort the rest.
inline constexpr op top_k_p{
    .name = "top_k",
    .cost = {.operations = [](const call& c) -> op_cost { return {2.0 * static_cast<double>(c[0].size())}; }},
    .attributes = schema<top_k_options>,
    .infer_all = [](const call& c) -> types {
      const std::int64_t k = c.attrs<top_k_options>().k, n = c[0].rank() > 0 ? c[0].extent(-1) : 0;
      if (c[0].rank() == 0 || k < 0 || !at_most(k, n))
        c.fail("top_k: k", message() << k, message("0 or more, within ") << c[0].type());
      shape s = c[0].shape();
      if (s.rank() > 0) s[s.rank() - 1] = k;
      return {{c[0].dtype(), false, s}, {i32, false, s}};
    },
    .compose = [](const call& c) -> arrays {
      const std::int64_t k = c.attrs<top_k_options>().k, chunk = detail::top_k_chunk(c[0], k);
      const top_k_result r =
          chunk > 1 ? detail::top_k_of_chunks(c[0], k, chunk, {}) : detail::top_k_of_sorted(c[0], k, {});
      return {r.values, r.indices};
    },
    .vjp = [](const call& c) -> arrays {
      if (!c.ct().exists()) return {array()};
      const array& x = c[0];
      const std::int64_t n = x.extent(-1);
      if (detail::has_few_elements(x)) {
        const array ct = reshape(c.ct(), {c.ct().size()});
        return {reshape(scatter_add(detail::places_in_rows(c.outputs[1], n), ct, x.size()), x.shape())};
      }
      const int axis = x.rank() - 1;  // the cotangents in order, sorted by where each element came from
      shape zero(x.shape()), rest(x.shape());
      for (int i = 0; i <= axis; ++i) zero[i] = rest[i] = 0;
      rest[axis] = n - c.ct().extent(-1);
      const array from = sort({x, iota(i32, x.shape(), axis)}, axis, true)[1];
      return {sort({from, pad(c.ct(), array(0.0, {x.dtype(), false, {}}), zero, rest)}, axis)[1]};
    },
    .jvp = [](const call& c) -> arrays {
      const array& t = c.tangents[0];
      const std::int64_t k = c.attrs<top_k_options>().k;
      if (!detail::has_few_elements(t))
        return {slice_in_dim(sort({c[0], t}, t.rank() - 1, true)[1], 0, k, t.rank() - 1), array()};
      const array taken = gather(reshape(t, {t.size()}), detail::places_in_rows(c.outputs[1], t.extent(-1)));
      return {reshape(taken, c.outputs[1].shape()), array()};
    },
    .batch = [](const call& c) -> arrays {
      const top_k_result r = top_k(c[0], c.attrs<top_k_options>().k);
      return {r.values, r.indices};
    },
    .kernels = kernels_of<top_k_p>,
};

/// The k largest values along the last axis. NaN counts as the largest value, and of equal values the first come first.
///
/// shapes  x [..., n] -> [..., k] twice
/// dtypes  any; indices i32
/// errors  "top_k: axis" of a scalar, "top_k: k" outside 0 ... n
/// source  jax.lax.top_k
constexpr top_k_result top_k(const array& x, std::int64_t k, source_line l) {
  const int axis = checked_axis("top_k: axis", -1, x, l);
  if (x.rank() == 0) return {x, x};
  const bool fits = k >= 0 && at_most(k, x.extent(axis));
  if (!fits) reject(x, l, "top_k: k", message() << k, message("0 or more, within ") << x.type());
  const arrays found = bind_all(described<top_k_p>(), &x, 1, pack(top_k_options{fits ? k : 0}), l);
  return {found[0], found[1]};
}

/// The k smallest values along the last axis, exactly. NaN counts as the smallest value, and of equal values the first come
/// first.
///
/// shapes  x [..., n] -> [..., k] twice
/// dtypes  any float; indices i32
/// errors  "approx_min_k: dtype", and those of top_k
/// source  jax.lax.approx_min_k, whose recall is 1 here
constexpr top_k_result approx_min_k(const array& x, std::int64_t k, source_line l = source_line::current()) {
  if (!is_floating(x.dtype())) {
    reject(x, l, "approx_min_k: dtype", x.type(), "a floating dtype");
    return {x, x};
  }
  const top_k_result r = top_k(-x, k, l);
  return {-r.values, r.indices};
}

}  // namespace tokamax
