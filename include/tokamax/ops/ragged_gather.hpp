// tokamax/ops/ragged_gather.hpp: rows by index within a range, which carry tokens to experts and back.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models with experts use it)
// tested by tests/ops/ragged_gather.cpp
#pragma once

#include <tokamax/lax/indexing/gather.hpp>  // gather, scatter_add

namespace tokamax {

constexpr array ragged_gather(const array& x, const array& indices, const array& start, const array& end,
                              source_line l = source_line::current());
constexpr array ragged_scatter(const array& x, const array& indices, const array& start, const array& end,
                               std::int64_t rows = -1, source_line l = source_line::current());

namespace detail {
/// A bound of a range as an i32 scalar.
constexpr array range_bound(const array& x, source_line l) {
  return astype(reshape(index_in_i32(x), shape{}, l), i32, l);
}
/// Which of n positions are in [start, end), as truth values [n].
constexpr array positions_within(std::int64_t n, const array& start, const array& end, source_line l) {
  const array at = iota(i32, {n}, 0, l);
  return logical_and(at >= range_bound(start, l), at < range_bound(end, l), l);
}
/// Rejects operands of the functions below. False if it has.
constexpr bool ragged_rows(const char* what_x, const char* what_indices, const array& x, const array& indices,
                           source_line l) {
  const array both[] = {x, indices};
  const bool rows = x.rank() > 0, fit = rows && indices.rank() == 1 && is_index(indices.dtype());
  if (!rows) reject(both, 2, l, what_x, x.type(), "at least one axis");
  if (rows && !fit) reject(both, 2, l, what_indices, indices.type(), "i32 or i64 [n]");
  return fit;
}
constexpr bool ragged_range(const char* what, const array& x, const array& start, const array& end, source_line l) {
  for (const array* bound : {&start, &end})
    if (bound->size() != 1 || !is_integer(bound->dtype())) {
      reject(x, l, what, bound->type(), "one integer");
      return false;
    }
  return true;
}
/// x where `keep` is true for the row, and 0 elsewhere.
constexpr array kept_rows(const array& x, const array& keep) {
  return select(broadcast_in_dim(keep, x.shape(), {0}), x, zeros_like(x));
}
/// `indices` where `keep` is true, and -1 elsewhere, which is outside.
constexpr array kept_indices(const array& indices, const array& keep) {
  const array i = index_in_i32(indices);
  return select(keep, i, full_like(i, -1));
}
}  // namespace detail

/// ragged_gather as one op, so that a backend can make one pass over the rows.
inline constexpr op ragged_gather_p{
    .name = "ragged_gather",
    .precision = {.selects = true},
    .cost = {.bytes = [](const call& c) { return 2 * bytes_of(c.type) + bytes_of(c[1].type()); }},
    .infer = [](const call& c) -> array_type {
      if (c[0].rank() < 1 || c[1].dtype() != i32 || c[1].rank() != 1)
        return c.fail("ragged_gather: x, indices", message(c[0].type()) << ", " << c[1].type(), "rows, i32 [n]");
      for (int k : {2, 3})
        if (c[k].dtype() != i32 || c[k].rank() != 0)
          return c.fail("ragged_gather: range", c[k].type(), "an i32 scalar");
      array_type t = c[0].type();
      t.shape[0] = c[1].extent(0);
      return t;
    },
    .compose = [](const call& c) -> arrays {
      const array within = detail::positions_within(c[1].extent(0), c[2], c[3], {});
      return detail::kept_rows(gather(c[0], detail::kept_indices(c[1], within)), within);
    },
    .vjp = [](const call& c) -> arrays {
      return {ragged_scatter(c.ct(), c[1], c[2], c[3], c[0].extent(0)), array(), array(), array()};
    },
    .jvp = [](const call& c) -> arrays {
      return c.tangents[0].exists() ? ragged_gather(c.tangents[0], c[1], c[2], c[3]) : array();
    },
    .kernels = kernels_of<ragged_gather_p>,
};

/// Row i of the result is x[indices[i]] for start <= i < end. All others are zero, and their indices are not read.
///
/// shapes  x [R, ...], indices [n], start and end one integer each -> [n, ...]
/// dtypes  x any; indices i32 or i64
/// errors  "ragged_gather: x", "ragged_gather: indices", "ragged_gather: range"; an index outside [0, R) gives NaN, as gather
/// source  tokamax.ragged_gather, which leaves the other rows undefined
constexpr array ragged_gather(const array& x, const array& indices, const array& start, const array& end,
                              source_line l) {
  if (!detail::ragged_rows("ragged_gather: x", "ragged_gather: indices", x, indices, l) ||
      !detail::ragged_range("ragged_gather: range", x, start, end, l))
    return x;
  return bind(described<ragged_gather_p>(),
              {x, detail::index_in_i32(indices), detail::range_bound(start, l), detail::range_bound(end, l)}, words{},
              l);
}

/// Row indices[i] of the result is x[i] for start <= i < end. Rows without an index are zero, and rows with the same index are
/// added.
///
/// shapes  x [n, ...], indices [n], start and end one integer each -> [rows, ...]; rows is n unless it is given
/// dtypes  x numbers; indices i32 or i64
/// errors  "ragged_scatter: x", "ragged_scatter: indices", "ragged_scatter: range"; rows whose index is outside are dropped
/// source  tokamax.ragged_scatter, which leaves the other rows undefined
constexpr array ragged_scatter(const array& x, const array& indices, const array& start, const array& end,
                               std::int64_t rows, source_line l) {
  if (!detail::ragged_rows("ragged_scatter: x", "ragged_scatter: indices", x, indices, l) ||
      !detail::ragged_range("ragged_scatter: range", x, start, end, l))
    return x;
  const array within = detail::positions_within(indices.extent(0), start, end, l);
  return scatter_add(detail::kept_indices(indices, within), x, rows < 0 ? x.extent(0) : rows, l);
}

}  // namespace tokamax
