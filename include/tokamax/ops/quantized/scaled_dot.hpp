// tokamax/ops/quantized/scaled_dot.hpp: the op that multiplies integers of 8 bits and scales the sums of tiles.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/lax/dot_general.hpp>  // dot_general
#include <tokamax/lax/reduce.hpp>       // reduce_sum

namespace tokamax {

/// Products of integers whose sums over each tile t of k are scaled:
///
///   y[b, m, n] = sum over t of row_scale[b, m, t] * column_scale[b, t, n] * (sum over the k of t of lhs[b, m, k] rhs[b, k, n])
///
/// shapes  lhs i8 [B, M, K], rhs i8 [B, K, N], row_scale f32 [B, M, T], column_scale f32 [B, T, N], T divides K -> f32 [B, M, N]
inline constexpr op scaled_dot_p{
    .name = "scaled_dot",
    .cost = {.operations = [](const call& c) -> op_cost {
      const double sums = 2.0 * static_cast<double>(c[0].size()) * static_cast<double>(c[1].extent(2));
      return {sums + 3.0 * static_cast<double>(size(c.type.shape) * c[2].extent(2))};
    }},
    .infer = [](const call& c) -> array_type {
      const array &a = c[0], &b = c[1], &row = c[2], &column = c[3];
      bool fit = a.rank() == 3 && b.rank() == 3 && row.rank() == 3 && column.rank() == 3;
      fit = fit && a.dtype() == i8 && b.dtype() == i8 && row.dtype() == f32 && column.dtype() == f32;
      fit = fit && b.extent(0) == a.extent(0) && b.extent(1) == a.extent(2);
      fit = fit && row.extent(0) == a.extent(0) && row.extent(1) == a.extent(1);
      fit = fit && column.shape() == shape{a.extent(0), row.extent(2), b.extent(2)};
      const std::int64_t tiles = fit ? row.extent(2) : 0;
      if (!fit || (tiles != 1 && (tiles <= 0 || is_dyn(a.extent(2)) || a.extent(2) % tiles != 0)))
        return c.fail("scaled_dot: operands",
                      message(a.type()) << ", " << b.type() << ", " << row.type() << ", " << column.type(),
                      "i8[B,M,K], i8[B,K,N], f32[B,M,T], f32[B,T,N]");
      return {f32, false, {a.extent(0), a.extent(1), b.extent(2)}};
    },
    .compose = [](const call& c) -> arrays {
      const std::int64_t batch = c[0].extent(0), m = c[0].extent(1), n = c[1].extent(2), tiles = c[2].extent(2);
      const std::int64_t k = div_extent(c[0].extent(2), tiles);
      const array sums = astype(dot_general(reshape(c[0], {batch, m, tiles, k}), reshape(c[1], {batch, tiles, k, n}),
                                            {{3}, {2}, {0, 2}, {0, 1}, i32}),
                                f32);  // [B, T, M, N]
      const array rows = expand_dims(transpose(c[2], axes{0, 2, 1}), 3), columns = expand_dims(c[3], 2);
      return reduce_sum(sums * rows * columns, {1});
    },
    .batch = [](const call& c) -> arrays {
      arrays in;
      for (const array& x : with_batch_axis(c))
        in.push_back(reshape(x, {mul_extent(x.extent(0), x.extent(1)), x.extent(2), x.extent(3)}));
      const array y = bind_all(*c.self, in.data(), in.count(), words{}, c.where)[0];
      return reshape(y, {c.batch_size, div_extent(y.extent(0), c.batch_size), y.extent(1), y.extent(2)});
    },
    .kernels = kernels_of<scaled_dot_p>,
};

}  // namespace tokamax
