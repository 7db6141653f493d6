// tests/support/kernel_sources.hpp: four kernels that are written once, for all devices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/kernel.hpp>
#include <tokamax/lax/concatenate.hpp>
#include <tokamax/lax/cumulative.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/take.hpp>
#include <tokamax/numpy/where.hpp>
#include <tokamax/ops/layer_norm.hpp>
#include <tokamax/ops/ragged_dot.hpp>
#include <tokamax/ops/softmax.hpp>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace tokamax::test::sources {

/// x [M, K] times w [K, N] in blocks, whose sums over K are in scratch memory. The last grid axis runs along K.
constexpr array product(const array& x, const array& w, const shape& block) {
  const auto body = [](const auto& p, const auto& xr, const auto& wr, const auto& out, const auto& sum) {
    p.when(p.program_id(2) == 0, [&] { sum.set(0.0f); });
    sum += matmul(xr.get(), wr.get());
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] { out.set(astype(sum.get(), out.dtype())); });
  };
  const std::int64_t m = x.extent(0), k = x.extent(1), n = w.extent(1), bm = block[0], bk = block[1], bn = block[2];
  using enum dimension_semantics;
  return kernel_call(body, {.grid = {m / bm, n / bn, k / bk},
                            .in = {{{bm, bk}, {0, 2}}, {{bk, bn}, {2, 1}}},
                            .out = {{{x.dtype(), false, {m, n}}, {{bm, bn}, {0, 1}}}},
                            .scratch = {{{f32, false, {bm, bn}}}},
                            .semantics = {parallel, parallel}})(x, w);
}

/// Attention of heads [H, T, D] in blocks of queries and keys: the largest score of each row so far, the sum of the
/// exponentials and the sum of values are in scratch memory. Of causal blocks only those on the diagonal need a mask.
constexpr array flash_attention(const array& q, const array& k, const array& v, std::int64_t bq, std::int64_t bk,
                                bool causal) {
  const std::int64_t heads = q.extent(0), t = q.extent(1), d = q.extent(2), keys = k.extent(1);
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  const auto body = [=](const auto& p, const auto& qr, const auto& kr, const auto& vr, const auto& out,
                        const auto& most, const auto& sums, const auto& values) {
    const auto rows = static_cast<std::int32_t>(bq), columns = static_cast<std::int32_t>(bk);
    const array row = p.program_id(1) * rows, column = p.program_id(2) * columns;  // where the blocks begin
    const auto visit = [&](bool masked) {
      array s = matmul(qr.get() * scale, swapaxes(kr.get(), 0, 1));
      if (masked) s = where(row + iota(i32, {bq, bk}, 0) >= column + iota(i32, {bq, bk}, 1), s, -1e30f);
      const array m = maximum(most.get(), max(s, {.axis = {1}, .keepdims = true}));
      const array e = exp(s - m), kept = exp(most.get() - m);
      sums.set(sums.get() * kept + sum(e, {.axis = {1}, .keepdims = true}));
      values.set(values.get() * kept + matmul(e, vr.get()));
      most.set(m);
    };
    p.when(p.program_id(2) == 0, [&] {
      most.set(-1e30f);
      sums.set(0.0f);
      values.set(0.0f);
    });
    if (causal) {
      p.when(column + columns <= row + 1, [&] { visit(false); });
      p.when(logical_and(column + columns > row + 1, column < row + rows), [&] { visit(true); });
    } else {
      visit(false);
    }
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] { out.set(values.get() / sums.get()); });
  };
  block_spec queries{{squeezed, bq, d}, {0, 1, first_block}}, some_keys{{squeezed, bk, d}, {0, 2, first_block}};
  using enum dimension_semantics;
  return kernel_call(body, {.grid = {heads, t / bq, keys / bk},
                            .in = {queries, some_keys, some_keys},
                            .out = {{q.type(), queries}},
                            .scratch = {{{f32, false, {bq, 1}}}, {{f32, false, {bq, 1}}}, {{f32, false, {bq, d}}}},
                            .semantics = {parallel, parallel}})(q, k, v);
}

/// Rows of x [M, N] less their mean, over their deviation, times scale [N], plus offset [N]. The last block may hang over.
constexpr array layer_norm(const array& x, const array& scale, const array& offset, std::int64_t rows) {
  const auto body = [](const auto&, const auto& in, const auto& s, const auto& t, const auto& out) {
    const array v = in.get(), c = v - mean(v, {.axis = {1}, .keepdims = true});
    out.set(c * rsqrt(mean(square(c), {.axis = {1}, .keepdims = true}) + 1e-6f) * s.get() + t.get());
  };
  block_spec some{{rows, x.extent(1)}, {0, first_block}};
  return kernel_call(body, {.grid = {(x.extent(0) + rows - 1) / rows},
                            .in = {some, {}, {}},
                            .out = {{x.type(), some}},
                            .semantics = {dimension_semantics::parallel}})(x, scale, offset);
}

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
/// Row r of x [M, K] times w[g] of w [G, K, N], where g is the group of r: the first sizes[0] rows are group 0, and so on.
constexpr array ragged_dot(const array& x, const array& w, const array& sizes, const shape& block) {
  const std::int64_t m = x.extent(0), k = x.extent(1), n = w.extent(2), bm = block[0], bk = block[1], bn = block[2];
  const auto groups = static_cast<std::int32_t>(w.extent(0));
  const auto body = [=](const auto& p, const auto& tile, const auto& group, const auto& first, const auto& end,
                        const auto& xr, const auto& wr, const auto& out, const auto& sum) {
    const array step = p.program_id(1), here = group.get({step}), g = minimum(here, groups);
    p.when(p.program_id(2) == 0, [&] { sum.set(0.0f); });
    p.when(here < groups, [&] { sum += matmul(xr.get(), wr.get()); });
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] {
      const array row = tile.get({step}) * static_cast<std::int32_t>(bm) + iota(i32, {bm, bn}, 0);
      const array own = logical_and(here <= groups, logical_and(row >= first.get({g}), row < end.get({g})));
      out.set(where(own, sum.get(), out.get()));
    });
  };
  block_spec rows{{bm, bk}, {}, [](const arrays& i) -> arrays { return {entry(i[3], i[1]), i[2]}; }};
  block_spec of_group{{squeezed, bk, bn}, {}, [](const arrays& i) -> arrays {
                        return {minimum(entry(i[4], i[1]), static_cast<std::int32_t>(i[5].size()) - 2), i[2], i[0]};
                      }};
  block_spec results{{bm, bn}, {}, [](const arrays& i) -> arrays { return {entry(i[3], i[1]), i[0]}; }};
  const ragged_steps s = steps_of_groups(sizes, m, bm);
  return kernel_call(body, {.grid = {n / bn, m / bm + groups, k / bk},
                            .in = {rows, of_group},
                            .out = {{{f32, false, {m, n}}, results}},
                            .scratch = {{{f32, false, {bm, bn}}}},
                            .prefetch = 4,
                            .semantics = {dimension_semantics::parallel}})(s.tile, s.group, s.first, s.end, x, w);
}

/// A source with arguments, and its meaning on whole arrays.
struct source {
  std::string name;
  std::function<array(const arrays&)> kernel, meaning;
  arrays in;
};
/// All of them, on arguments that `made` makes of shapes.
inline std::vector<source> all(const std::function<array(const shape&)>& made) {
  const auto attention = [](bool causal) -> std::function<array(const arrays&)> {
    return [causal](const arrays& a) {
      array s = matmul(a[0], swapaxes(a[1], 1, 2)) * (1.0f / std::sqrt(static_cast<float>(a[0].extent(2))));
      if (causal) s = where(iota(i32, s.shape(), 1) >= iota(i32, s.shape(), 2), s, -1e30f);
      return matmul(softmax(s), a[2]);
    };
  };
  const auto flash = [](bool causal) -> std::function<array(const arrays&)> {
    return [causal](const arrays& a) { return flash_attention(a[0], a[1], a[2], 8, 4, causal); };
  };
  const arrays heads{made({2, 16, 8}), made({2, 16, 8}), made({2, 16, 8})};
  const auto groups = [](const arrays& a) { return ragged_dot(a[0], a[1], a[2], {4, 8, 8}); };
  const auto of_groups = [](const arrays& a) { return tokamax::ragged_dot(a[0], a[1], a[2]); };
  const array x = made({16, 16}), experts = made({3, 16, 8});
  return {{"product",
           [](const arrays& a) { return product(a[0], a[1], {8, 4, 16}); },
           [](const arrays& a) { return matmul(a[0], a[1]); },
           {made({16, 12}), made({12, 32})}},
          {"flash attention", flash(false), attention(false), heads},
          {"causal flash attention", flash(true), attention(true), heads},
          {"layer norm",
           [](const arrays& a) { return layer_norm(a[0], a[1], a[2], 3); },
           [](const arrays& a) { return tokamax::layer_norm(a[0], a[1], a[2]); },
           {made({7, 6}), made({6}), made({6})}},
          {"ragged dot", groups, of_groups, {x, experts, array::from<std::int32_t>({3, 0, 8})}},
          {"ragged dot of all rows", groups, of_groups, {x, experts, array::from<std::int32_t>({4, 11, 1})}},
          {"ragged dot of no rows", groups, of_groups, {x, experts, array::from<std::int32_t>({0, 0, 0})}}};
}

}  // namespace tokamax::test::sources
