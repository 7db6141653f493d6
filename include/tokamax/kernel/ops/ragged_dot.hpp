// tokamax/kernel/ops/ragged_dot.hpp: products of groups of rows with a matrix for each group, in tiles of rows.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
// umbrella: no (programs that use this kernel include it)
#pragma once

#include <tokamax/kernel/ops/matmul.hpp>       // matmul_options
#include <tokamax/lax/cumulative.hpp>          // cumsum
#include <tokamax/lax/reduce.hpp>              // sum
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/numpy/take.hpp>              // take

namespace tokamax::kernel_ops {

namespace detail {

/// Which tile of rows and which group each step of `ragged_dot` works on, and where groups begin and end.
///
/// A tile has a step for each group with rows in it. The rows behind all groups are a group too, whose product is zero. Steps
/// that are left over work on the last tile and on no row.
struct ragged_steps {
  array tile, group, first, end;  ///< i32[tiles + groups], the same, i32[groups + 1], the same
};
constexpr ragged_steps steps_of_groups(const array& sizes, std::int64_t m, std::int64_t bm) {
  const auto rows = static_cast<std::int32_t>(m), per_tile = static_cast<std::int32_t>(bm);
  const std::int64_t groups = sizes.extent(0), steps = m / bm + groups;
  const array ends = minimum(cumsum(astype(sizes, i32), 0), rows);
  const array end = concatenate(arrays{ends, array(rows, {i32, false, {1}})}, 0);
  const array first = concatenate(arrays{array(0.0, {i32, false, {1}}), ends}, 0);
  const array tiles = where(end > first, quotient(end - 1, per_tile) - quotient(first, per_tile) + 1, 0);
  const array until = cumsum(tiles, 0);  // steps before the next group
  const array step = iota(i32, {steps, groups + 1}, 0);
  const array group = sum(astype(step >= broadcast_in_dim(until, {steps, groups + 1}, {1}), i32), {.axis = {1}});
  const array some = minimum(group, static_cast<std::int32_t>(groups));
  const array tile = take(quotient(first, per_tile) - (until - tiles), some) + iota(i32, {steps}, 0);
  return {minimum(tile, static_cast<std::int32_t>(m / bm - 1)), group, first, end};
}
constexpr array entry(const array& list, const array& i) { return dynamic_index_in_dim(list, i, 0, false); }

}  // namespace detail

/// Row r of x times w[g], where g is the group of r: the first sizes[0] rows are group 0, and so on. Rows behind all groups are
/// zeros. A tile of rows has a step for each group with rows in it, which the sizes tell through prefetched numbers.
///
/// shapes  x [M, K], w [G, K, N], sizes integers [G] -> f32 [M, N]; blocks tile M, K and N
/// errors  those of kernel_call and of matmul
/// source  Gale et al. 2022, arXiv:2211.15841 (MegaBlocks)
/// see     tokamax::ragged_dot, which it computes
constexpr array ragged_dot(const array& x, const array& w, const array& sizes, const matmul_options& o = {},
                           source_line l = source_line::current()) {
  const std::int64_t m = x.extent(0), k = x.extent(1), n = w.extent(2), bm = std::min(o.block[0], m),
                     bk = std::min(o.block[1], k), bn = std::min(o.block[2], n);
  const auto groups = static_cast<std::int32_t>(w.extent(0));
  const auto body = [=](const auto& p, const auto& tile, const auto& group, const auto& first, const auto& end,
                        const auto& xr, const auto& wr, const auto& out, const auto& sum) {
    const array step = p.program_id(1), here = group.get({step}), g = minimum(here, groups);
    p.when(p.program_id(2) == 0, [&] { sum.set(0.0f); });
    p.when(here < groups, [&] { sum += tokamax::matmul(xr.get(), wr.get()); });
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] {
      const array row = tile.get({step}) * static_cast<std::int32_t>(bm) + iota(i32, {bm, bn}, 0);
      const array own = logical_and(here <= groups, logical_and(row >= first.get({g}), row < end.get({g})));
      out.set(where(own, sum.get(), out.get()));
    });
  };
  block_spec rows{{bm, bk}, {}, [](const arrays& i) -> arrays { return {detail::entry(i[3], i[1]), i[2]}; }};
  block_spec of_group{{squeezed, bk, bn}, {}, [](const arrays& i) -> arrays {
                        return {minimum(detail::entry(i[4], i[1]), static_cast<std::int32_t>(i[5].size()) - 2), i[2],
                                i[0]};
                      }};
  block_spec results{{bm, bn}, {}, [](const arrays& i) -> arrays { return {detail::entry(i[3], i[1]), i[0]}; }};
  const detail::ragged_steps s = detail::steps_of_groups(sizes, m, bm);
  return kernel_call(body,
                     {.grid = {n / bn, m / bm + groups, k / bk},
                      .in = {rows, of_group},
                      .out = {{{f32, false, {m, n}}, results}},
                      .scratch = {{{f32, false, {bm, bn}}}},
                      .prefetch = 4,
                      .semantics = {dimension_semantics::parallel}},
                     l)(s.tile, s.group, s.first, s.end, x, w);
}

}  // namespace tokamax::kernel_ops
