// tokamax/ops/quantized/ragged_scaled_dot.hpp: scaled_dot of groups of rows with a matrix for each group.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/ops/ragged_dot.hpp>  // rows_of_groups, joined_batch

namespace tokamax {

/// Products of integers whose sums over each tile t of k are scaled, for the rows m of group g:
///
///   y[b, m, n] = sum over t of row_scale[b, m, t] * column_scale[b, g, t, n] * (sum over the k of t of lhs[b, m, k] rhs[b, g, k, n])
///
/// shapes  lhs i8 [B, M, K], rhs i8 [B, G, K, N], group_sizes i32 [B, G], first_row i32 [B], row_scale f32 [B, M, T],
///         column_scale f32 [B, G, T, N], T divides K -> f32 [B, M, N]; rows of no group are zero
inline constexpr op ragged_scaled_dot_p{
    .name = "ragged_scaled_dot",
    .cost = {.operations = [](const call& c) -> op_cost {
      const double sums = 2.0 * static_cast<double>(c[0].size()) * static_cast<double>(c[1].extent(3));
      return {sums + 3.0 * static_cast<double>(size(c.type.shape) * c[4].extent(2))};
    }},
    .infer = [](const call& c) -> array_type {
      const array &a = c[0], &b = c[1], &sizes = c[2], &first = c[3], &row = c[4], &column = c[5];
      bool fit = a.rank() == 3 && b.rank() == 4 && sizes.rank() == 2 && row.rank() == 3 && column.rank() == 4;
      fit = fit && a.dtype() == i8 && b.dtype() == i8 && row.dtype() == f32 && column.dtype() == f32;
      fit = fit && sizes.dtype() == i32 && first.dtype() == i32 && first.shape() == shape{a.extent(0)};
      fit = fit && b.extent(0) == a.extent(0) && b.extent(2) == a.extent(2);
      fit = fit && sizes.shape() == shape{a.extent(0), b.extent(1)};
      fit = fit && row.extent(0) == a.extent(0) && row.extent(1) == a.extent(1);
      fit = fit && column.shape() == shape{a.extent(0), b.extent(1), row.extent(2), b.extent(3)};
      const std::int64_t tiles = fit ? row.extent(2) : 0;
      if (!fit || (tiles != 1 && (tiles <= 0 || is_dyn(a.extent(2)) || a.extent(2) % tiles != 0)))
        return c.fail("ragged_scaled_dot: operands",
                      message(a.type()) << ", " << b.type() << ", " << row.type() << ", " << column.type(),
                      "i8[B,M,K], i8[B,G,K,N], f32[B,M,T], f32[B,G,T,N]");
      return {f32, false, {a.extent(0), a.extent(1), b.extent(3)}};
    },
    // Products with the matrices of other groups are computed too, and dropped.
    .compose = [](const call& c) -> arrays {
      const std::int64_t batch = c[0].extent(0), m = c[0].extent(1), groups = c[1].extent(1), n = c[1].extent(3);
      const std::int64_t tiles = c[4].extent(2), k = div_extent(c[0].extent(2), tiles);
      const array sums =
          astype(dot_general(reshape(c[0], {batch, m, tiles, k}), reshape(c[1], {batch, groups, tiles, k, n}),
                             {{3}, {3}, {0, 2}, {0, 2}, i32}),
                 f32);  // [B, T, M, G, N]
      const array rows = reshape(transpose(c[4], axes{0, 2, 1}), {batch, tiles, m, 1, 1});
      const array columns = expand_dims(transpose(c[5], axes{0, 2, 1, 3}), 2);
      const array all = reduce_sum(sums * rows * columns, {1});  // [B, M, G, N]
      const array mask = broadcast_in_dim(detail::rows_of_groups(c[2], c[3], m), all.shape(), {0, 1, 2});
      return reduce_sum(select(mask, all, zeros_like(all)), {2});
    },
    .batch = [](const call& c) -> arrays {
      arrays in;
      for (const array& x : with_batch_axis(c)) in.push_back(detail::joined_batch(x));
      const array y = bind_all(*c.self, in.data(), in.count(), words{}, c.where)[0];
      return reshape(y, {c.batch_size, div_extent(y.extent(0), c.batch_size), y.extent(1), y.extent(2)});
    },
    .kernels = kernels_of<ragged_scaled_dot_p>,
};

}  // namespace tokamax
