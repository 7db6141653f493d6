// tokamax/ops/ragged_gather.hpp: rows by index within a range, which carry tokens to experts and back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/gather.hpp>  // gather, scatter_add
#include <tokamax/lax/reduce.hpp>  // sum
#include <tokamax/lax/split.hpp>   // split

namespace tokamax {

namespace detail {
/// Which of n positions are in [start, end), as truth values [n].
constexpr array positions_within(std::int64_t n, const array& start, const array& end, source_line l) {
  const auto scalar = [&](const array& x) { return astype(reshape(x, shape{}, l), i32, l); };
  const array at = iota(i32, {n}, 0, l);
  return logical_and(at >= scalar(index_in_i32(start)), at < scalar(index_in_i32(end)), l);
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
/// ragged_gather_reduce of small groups. The first rows of all groups are gathered, then the second ones, and so on: so one loop
/// reads the rows of a group side by side, and nothing but the rows themselves is in memory.
constexpr array sum_of_places(const array& x, const array& indices, const array& weights, const array& valid,
                              std::int64_t group, source_line l) {
  const std::int64_t groups = indices.extent(0) / group;
  const auto by_place = [&](const array& a) {
    return reshape(transpose(reshape(a, {groups, group}, l), {1, 0}, l), {groups * group}, l);
  };
  const array seen = by_place(valid), kept = select(seen, carried(by_place(weights)), 0.0f);
  const int parts = static_cast<int>(group);
  const arrays rows = split(gather(x, kept_indices(by_place(indices), seen), l), parts, 0, l);
  const arrays scales = split(astype(kept, carrying(x.dtype())), parts, 0, l), counts = split(seen, parts, 0, l);
  array y;
  for (int j = 0; j < parts; ++j) {
    const array row = carried(kept_rows(rows[j], counts[j]));
    const array term = row * broadcast_in_dim(scales[j], row.shape(), {0});
    y = j == 0 ? term : array(y + term);
  }
  return astype(y, x.dtype(), l);
}
}  // namespace detail

/// Row i of the result is x[indices[i]] for start <= i < end. All others are zero, and their indices are not read.
///
/// shapes  x [R, ...], indices [n], start and end one integer each -> [n, ...]
/// dtypes  x any; indices i32 or i64
/// errors  "ragged_gather: x", "ragged_gather: indices", "ragged_gather: range"; an index outside [0, R) gives NaN, as gather
/// source  tokamax.ragged_gather, which leaves the other rows undefined
constexpr array ragged_gather(const array& x, const array& indices, const array& start, const array& end,
                              source_line l = source_line::current()) {
  if (!detail::ragged_rows("ragged_gather: x", "ragged_gather: indices", x, indices, l) ||
      !detail::ragged_range("ragged_gather: range", x, start, end, l))
    return x;
  const array within = detail::positions_within(indices.extent(0), start, end, l);
  return detail::kept_rows(gather(x, detail::kept_indices(indices, within), l), within);
}

/// Row indices[i] of the result is x[i] for start <= i < end. Rows without an index are zero, and rows with the same index are
/// added.
///
/// shapes  x [n, ...], indices [n], start and end one integer each -> [rows, ...]; rows is n unless it is given
/// dtypes  x numbers; indices i32 or i64
/// errors  "ragged_scatter: x", "ragged_scatter: indices", "ragged_scatter: range"; rows whose index is outside are dropped
/// source  tokamax.ragged_scatter, which leaves the other rows undefined
constexpr array ragged_scatter(const array& x, const array& indices, const array& start, const array& end,
                               std::int64_t rows = -1, source_line l = source_line::current()) {
  if (!detail::ragged_rows("ragged_scatter: x", "ragged_scatter: indices", x, indices, l) ||
      !detail::ragged_range("ragged_scatter: range", x, start, end, l))
    return x;
  const array within = detail::positions_within(indices.extent(0), start, end, l);
  return scatter_add(detail::kept_indices(indices, within), x, rows < 0 ? x.extent(0) : rows, l);
}

/// Brings the results of experts back to their tokens: rows by index, each times its weight, summed over groups of `group`
/// rows that follow one another. Rows whose `valid` is false count as zero, and their indices are not read.
///
///   y[t] = sum(weights[i] * x[indices[i]] for i in [t * group, (t + 1) * group) if valid[i])
///
/// shapes  x [R, ...], indices, weights and valid [n] with n a multiple of group -> [n / group, ...]
/// dtypes  x and weights floats; sums are f32, f64 for f64; the result has the dtype of x
/// errors  "ragged_gather_reduce: x", "ragged_gather_reduce: indices", "ragged_gather_reduce: weights",
///         "ragged_gather_reduce: valid", "ragged_gather_reduce: group"
/// source  tokamax.ragged_gather_reduce
constexpr array ragged_gather_reduce(const array& x, const array& indices, const array& weights, const array& valid,
                                     std::int64_t group, source_line l = source_line::current()) {
  if (!detail::ragged_rows("ragged_gather_reduce: x", "ragged_gather_reduce: indices", x, indices, l)) return x;
  const std::int64_t n = indices.extent(0);
  const array all[] = {x, indices, weights, valid};
  const auto wrong = [&](const char* what, const message& found, const message& expected) {
    reject(all, 4, l, what, found, expected);
    return x;
  };
  if (!is_floating(x.dtype())) return wrong("ragged_gather_reduce: x", x.type(), "floats");
  if (!is_floating(weights.dtype()) || weights.shape() != indices.shape())
    return wrong("ragged_gather_reduce: weights", weights.type(), message("floats") << indices.shape());
  if (valid.dtype() != bool_ || valid.shape() != indices.shape())
    return wrong("ragged_gather_reduce: valid", valid.type(), message("bool") << indices.shape());
  if (group < 1 || (!is_dyn(n) && n % group != 0))
    return wrong("ragged_gather_reduce: group", message() << group, message("a divisor of ") << n);
  constexpr std::int64_t most_terms = 16;  // of a loop that reads all rows of a group
  if (!is_dyn(n) && n > 0 && group <= most_terms) return detail::sum_of_places(x, indices, weights, valid, group, l);
  const array rows = detail::kept_rows(gather(x, detail::kept_indices(indices, valid), l), valid);
  const array kept = select(valid, detail::carried(weights), zeros_like(detail::carried(weights)));
  const array scaled = detail::carried(rows) * broadcast_in_dim(astype(kept, carrying(x.dtype())), rows.shape(), {0});
  shape s{div_extent(n, group), group};
  for (int i = 1; i < rows.rank(); ++i) s.push_back(rows.extent(i));
  return astype(reduce_sum(reshape(scaled, s, l), {1}, l), x.dtype(), l);
}

}  // namespace tokamax
