// tokamax/lax/indexing/scatter.hpp: rows of a table replaced by index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/indexing/gather.hpp>  // gather, batch_indices
#include <tokamax/lax/reduce.hpp>           // max

namespace tokamax {

/// How scatter counts rows.
struct scatter_options {
  std::int64_t axes = 1;  ///< the leading axes of the operand that an index counts as one, as if they were joined
};

constexpr array scatter(const array& operand, const array& indices, const array& updates, scatter_options options = {},
                        source_line l = source_line::current());

namespace detail {
/// x [a, b, ...] with its first `leading` axes joined.
constexpr array joined_rows(const array& x, std::int64_t leading) {
  shape s{1};
  for (int i = 0; i < x.rank(); ++i) {
    if (i < leading)
      s[0] = mul_extent(s[0], x.extent(i));
    else
      s.push_back(x.extent(i));
  }
  return reshape(x, s);
}
/// Booleans [rows] with the axes of an array of rows.
constexpr array over_rows(const array& which, const array& rows) {
  return broadcast_in_dim(which, rows.shape(), iota_axes(which.rank()));
}
}  // namespace detail

inline constexpr op scatter_p{
    .name = "scatter",
    .stablehlo = "stablehlo.scatter",
    .memory = {.overwrites = 0},
    .cost = {.bytes = [](const call& c) { return bytes_of(c[1].type()) + 2 * bytes_of(c[2].type()); }},
    .attributes = schema<scatter_options>,
    .infer = [](const call& c) -> array_type {
      const array &table = c[0], &indices = c[1], &updates = c[2];
      const std::int64_t leading = c.attrs<scatter_options>().axes;
      if (leading < 1 || table.rank() < leading)
        return c.fail("scatter: operand", table.type(), message("at least ") << (leading < 1 ? 1 : leading) << " axes");
      if (!detail::is_index(indices.dtype())) return c.fail("scatter: index dtype", indices.type(), "i32 or i64");
      array_type rows{table.dtype(), false, indices.shape()};
      for (int i = static_cast<int>(leading); i < table.rank(); ++i) rows.shape.push_back(table.extent(i));
      if (updates.dtype() != rows.dtype || updates.shape() != rows.shape)
        return c.fail("scatter: updates", updates.type(), message() << rows);
      return table.type();
    },
    // The last of the updates of each row is found by comparing all rows with all indices.
    .compose = [](const call& c) -> arrays {
      if (c[1].size() == 0) return c[0];
      const array table = detail::joined_rows(c[0], c.attrs<scatter_options>().axes);
      const array at = reshape(detail::index_in_i32(c[1]), {1, c[1].size()});
      const array rows = iota(i32, {table.extent(0), 1}, 0), order = iota(i32, {1, c[1].size()}, 1);
      const array last = max(select(rows == at, order, -1), {{-1}});  // [rows]
      const array chosen = gather(detail::joined_rows(c[2], c[1].rank()), maximum(last, 0));
      return reshape(select(detail::over_rows(last >= 0, table), chosen, table), c[0].shape());
    },
    .vjp = [](const call& c) -> arrays {
      const auto o = c.attrs<scatter_options>();
      arrays d(3);
      if (c.needs(0)) d[0] = scatter(c.ct(), c[1], zeros_like(c[2]), o);
      if (!c.needs(2)) return d;
      // an update that a later one replaces has no gradient
      const array ct = detail::joined_rows(c.ct(), o.axes), rows = gather(ct, c[1]);
      const array number = reshape(iota(i32, {c[1].size()}, 0), c[1].shape());
      const array last = gather(scatter(full({ct.extent(0)}, -1, i32), c[1], number), c[1]);
      d[2] = select(detail::over_rows(last == number, rows), rows, zeros_like(rows));
      return d;
    },
    .jvp = [](const call& c) -> arrays {
      const array x = c.tangents[0].exists() ? c.tangents[0] : zeros_like(c[0]),
                  u = c.tangents[2].exists() ? c.tangents[2] : zeros_like(c[2]);
      return scatter(x, c[1], u, c.attrs<scatter_options>());
    },
    .batch = [](const call& c) -> arrays {
      const auto o = c.attrs<scatter_options>();
      const array table = with_batch_axis(c, 0), updates = with_batch_axis(c, 2);
      std::int64_t rows = 1;
      for (int i = 1; i <= o.axes; ++i) rows = mul_extent(rows, table.extent(i));
      const array indices = detail::batch_indices(c, c[1], c.batched(1), rows);
      return scatter(table, indices, updates, {o.axes + 1});
    },
    .kernels = kernels_of<scatter_p>,
};

/// `operand` with the rows at `indices` replaced by those of `updates`. Indices outside are dropped. Of several updates of
/// one row the last one counts. A program that no longer needs the operand writes over it.
///
/// shapes  operand [rows] + rest, indices [...], updates indices.shape + rest -> operand.shape; with axes = 2 the operand is
///         [a, b] + rest, and has a * b rows
/// dtypes  all; indices i32 or i64
/// errors  "scatter: operand", "scatter: index dtype", "scatter: updates"
/// source  jax.lax.scatter, operand.at[indices].set(updates), where the order of equal indices is not defined
constexpr array scatter(const array& operand, const array& indices, const array& updates, scatter_options options,
                        source_line l) {
  return bind(described<scatter_p>(), {operand, indices, updates}, options, l);
}

}  // namespace tokamax
