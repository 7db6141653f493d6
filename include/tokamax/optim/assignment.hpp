// tokamax/optim/assignment.hpp: the cheapest way to give each row a column of its own.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>             // select
#include <tokamax/lax/indexing/slice.hpp>                  // slice_in_dim
#include <tokamax/lax/iota.hpp>                            // iota
#include <tokamax/lax/reduce.hpp>                          // sum, argmin
#include <tokamax/lax/shapes/transpose.hpp>                // transpose
#include <tokamax/transforms/control_flow/fori_loop.hpp>   // fori_loop
#include <tokamax/transforms/control_flow/while_loop.hpp>  // while_loop

#include <limits>   // infinity
#include <utility>  // pair

namespace tokamax::optim {

namespace detail {
/// x[i] for a scalar i, and x with y in that place.
constexpr array entry(const array& x, const array& i) {
  return sum(select(iota(i32, x.shape(), 0) == i, x, zeros_like(x)));
}
constexpr array with_entry(const array& x, const array& i, const array& y) {
  return select(iota(i32, x.shape(), 0) == i, y, x);
}
/// The column of each row of costs [rows, columns], with rows <= columns. Rows and columns count from 1, and 0 is none.
constexpr array columns_of_rows(const array& costs) {
  const std::int64_t rows = costs.extent(0), columns = costs.extent(1);
  const array far = full({columns}, std::numeric_limits<float>::infinity());
  struct matching {
    array u, v, row_of;  // potentials [rows + 1] and [columns + 1]; the row of each column [columns + 1]
  };
  struct path {
    array u, v, least, from, used, column;  // how near each column is, and which column comes before it: [columns]
  };
  struct way_back {
    array row_of, column;
  };
  const auto behind_first = [](const array& x) { return slice_in_dim(x, 1, x.extent(0), 0); };
  const auto add_row = [&](const array& row, const matching& m) {
    const array row_of = with_entry(m.row_of, zeros({}, i32), row + 1);
    const auto goes_on = [&](const path& p) { return entry(row_of, p.column) != 0; };
    const auto step = [&](const path& p) {
      const array used = logical_or(p.used, iota(i32, {columns + 1}, 0) == p.column), at = entry(row_of, p.column);
      const array open = logical_not(behind_first(used));
      const array of_row = iota(i32, {rows, columns}, 0) == at - 1;
      const array reduced =
          sum(select(of_row, costs, zeros_like(costs)), {.axis = {0}}) - entry(p.u, at) - behind_first(p.v);
      const array nearer = logical_and(open, reduced < p.least);
      const array least = select(nearer, reduced, p.least), from = select(nearer, p.column, p.from);
      const array reachable = select(open, least, far), next = argmin(reachable, 0), shift = min(reachable);
      const array hit =
          logical_and(expand_dims(used, 1), expand_dims(row_of, 1) == iota(i32, {columns + 1, rows + 1}, 1));
      return path{select(any(hit, {.axis = {0}}), p.u + shift, p.u),
                  select(used, p.v - shift, p.v),
                  select(open, least - shift, least),
                  from,
                  used,
                  next + 1};
    };
    const path start{m.u, m.v, far, zeros({columns}, i32), zeros({columns + 1}, bool_), zeros({}, i32)};
    const path end = while_loop(goes_on, step, start);
    const auto back = [&](const way_back& w) {
      const array before = entry(end.from, w.column - 1);
      return way_back{with_entry(w.row_of, w.column, entry(w.row_of, before)), before};
    };
    const way_back done =
        while_loop([](const way_back& w) { return w.column != 0; }, back, way_back{row_of, end.column});
    return matching{end.u, end.v, done.row_of};
  };
  const matching all =
      fori_loop(0, rows, add_row, matching{zeros({rows + 1}), zeros({columns + 1}), zeros({columns + 1}, i32)});
  const array row_of = expand_dims(behind_first(all.row_of), 0) == expand_dims(iota(i32, {rows}, 0), 1) + 1;
  return argmax(astype(row_of, i32), 1);
}
}  // namespace detail

/// Rows i and columns j with the least sum of costs[i, j]: each row has a column of its own, or each column a row if there are
/// fewer columns.
/// shapes  costs [rows, columns], finite -> two i32 [min(rows, columns)]; the indices of the shorter side ascend
/// errors  "hungarian_algorithm: costs" of another rank
/// source  optax.assignment.hungarian_algorithm, base_hungarian_algorithm; Kuhn 1955
constexpr std::pair<array, array> hungarian_algorithm(const array& costs, source_line l = source_line::current()) {
  if (costs.rank() != 2) {
    reject(costs, l, "hungarian_algorithm: costs", costs.type(), "[rows, columns]");
    return {costs, costs};
  }
  const std::int64_t rows = costs.extent(0), columns = costs.extent(1);
  if (rows == 0 || columns == 0) return {zeros({0}, i32), zeros({0}, i32)};
  const array wide = astype(costs, f32);
  if (rows <= columns) return {iota(i32, {rows}, 0), detail::columns_of_rows(wide)};
  return {detail::columns_of_rows(transpose(wide)), iota(i32, {columns}, 0)};
}

}  // namespace tokamax::optim
