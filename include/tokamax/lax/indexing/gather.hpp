// tokamax/lax/indexing/gather.hpp: rows of a table by index, and its transpose, scatter_add.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/iota.hpp>              // iota, extent_operand, full_like
#include <tokamax/lax/shapes/transpose.hpp>  // for its users: transpose

namespace tokamax {

/// Attributes of scatter_add: the number of rows of the result.
struct scatter_attributes {
  std::int64_t rows = 0;
};

constexpr array gather(const array& table, const array& indices, source_line l = source_line::current());
constexpr array scatter_add(const array& indices, const array& updates, std::int64_t rows,
                            source_line l = source_line::current());
constexpr array scatter_add(const array& operand, const array& indices, const array& updates,
                            source_line l = source_line::current());

namespace detail {
constexpr bool is_index(dtype t) { return t == i32 || t == i64; }
/// An index as i32: one that i32 has not becomes the nearest end, which is outside of every axis, as it was.
constexpr array index_in_i32(const array& x) {
  if (x.dtype() != i64) return x;
  const array low(-most_indices - 1, {i64, false, {}}), high(most_indices, {i64, false, {}});
  return astype(minimum(maximum(x, low), high), i32);
}
/// The same of integers of any dtype: those that i32 has not become the nearest end.
constexpr array integers_in_i32(const array& x, source_line l) {
  if (!is_unsigned(x.dtype()) || bits_of(x.dtype()) < 32) return astype(index_in_i32(x), i32, l);
  return astype(minimum(x, array(most_indices, {x.dtype(), false, {}})), i32, l);
}
/// Indices into a batch of tables, when the tables are joined into one: the rows of entry b begin at b * rows.
constexpr array batch_indices(const call& c, const array& indices, bool batched, std::int64_t rows) {
  if (const std::int64_t joint = mul_extent(c.batch_size, rows); joint > most_indices)
    c.fail(message(c.self->name) << ": rows of the batch", message() << joint, message("at most ") << most_indices);
  const array i = batched ? indices : with_leading_axis(indices, c.batch_size);
  const array inside = logical_and(
      i >= 0, i < detail::extent_operand(rows, {}));  // an index outside must stay outside of the joint table
  const array b = iota(i.dtype(), i.shape(), 0) * detail::extent_operand(rows, {});
  return select(inside, i + b, minimum(i, full_like(i, -1)));  // the least number stays: it marks what a mask has not
}

/// Updates, whose leading axes are those of the indices, as `rows` rows.
constexpr array_type scatter_type(const call& c, const array& indices, const array& updates, std::int64_t rows) {
  const int n = indices.rank();
  if (!are_extents({rows})) return c.fail("scatter_add: rows", message() << rows, "0 or more");
  if (updates.dtype() == bool_) return c.fail("scatter_add: updates", updates.type(), "numbers");
  bool ok = is_index(indices.dtype()) && n <= updates.rank();
  for (int i = 0; ok && i < n; ++i) ok = indices.extent(i) == updates.extent(i);
  if (!ok) return c.fail("scatter_add: updates", updates.type(), message("axes of ") << indices.type() << " first");
  if (rows > most_indices || size(indices.shape()) > most_indices)
    return c.fail("scatter_add: rows and indices", message() << rows << " rows, " << indices.type(),
                  message("at most ") << most_indices << " each");
  array_type t{updates.dtype(), false, {rows}};
  for (int i = n; i < updates.rank(); ++i) t.shape.push_back(updates.extent(i));
  return t;
}
/// Each update is read, and so is the element that it is added to, which is then written.
constexpr double scattered_bytes(const array& indices, const array& updates) {
  return bytes_of(indices.type()) + 3 * bytes_of(updates.type());
}
}  // namespace detail

inline constexpr op gather_p{
    .name = "gather",
    .stablehlo = "stablehlo.gather",
    .precision = {.selects = true},
    .cost = {.bytes = [](const call& c) { return 2 * bytes_of(c.type) + bytes_of(c[1].type()); }},
    .infer = [](const call& c) -> array_type {
      if (c[0].rank() < 1) return c.fail("gather: table", c[0].type(), "at least one axis");
      if (!detail::is_index(c[1].dtype())) return c.fail("gather: index dtype", c[1].type(), "i32 or i64");
      array_type t{c[0].dtype(), false, c[1].shape()};
      for (int i = 1; i < c[0].rank(); ++i) t.shape.push_back(c[0].extent(i));
      return t;
    },
    .vjp = [](const call& c) -> arrays { return {scatter_add(c[1], c.ct(), c[0].extent(0)), array()}; },
    .jvp = [](const call& c) -> arrays { return c.tangents[0].exists() ? gather(c.tangents[0], c[1]) : array(); },
    .batch = [](const call& c) -> arrays {
      if (!c.batched(0)) return gather(c[0], c[1]);
      const std::int64_t rows = c[0].extent(1);
      shape joint{mul_extent(c.batch_size, rows)};
      for (int i = 2; i < c[0].rank(); ++i) joint.push_back(c[0].extent(i));
      return gather(reshape(c[0], joint), detail::batch_indices(c, c[1], c.batched(1), rows));
    },
    .kernels = kernels_of<gather_p>,
};

inline constexpr op scatter_add_p{
    .name = "scatter_add",
    .stablehlo = "stablehlo.scatter",
    .precision = {.sums = true},
    .cost = {.operations = [](const call& c) -> op_cost { return {static_cast<double>(c[1].size())}; },
             .bytes = [](const call& c) { return bytes_of(c.type) + detail::scattered_bytes(c[0], c[1]); }},
    .attributes = schema<scatter_attributes>,
    .infer = [](const call& c) -> array_type {
      return detail::scatter_type(c, c[0], c[1], c.attrs<scatter_attributes>().rows);
    },
    .vjp = [](const call& c) -> arrays {  // updates that were dropped get zero, where gather would fill with NaN
      const array rows = gather(c.ct(), c[0]),
                  inside =
                      logical_and(c[0] >= 0, c[0] < detail::extent_operand(c.attrs<scatter_attributes>().rows, {}));
      return {array(),
              select(broadcast_in_dim(inside, rows.shape(), iota_axes(inside.rank())), rows, zeros_like(rows))};
    },
    .jvp = [](const call& c) -> arrays {
      return c.tangents[1].exists() ? scatter_add(c[0], c.tangents[1], c.attrs<scatter_attributes>().rows) : array();
    },
    .batch = [](const call& c) -> arrays {
      const std::int64_t rows = c.attrs<scatter_attributes>().rows;
      const array updates = with_batch_axis(c, 1);
      const array joint =
          scatter_add(detail::batch_indices(c, c[0], c.batched(0), rows), updates, mul_extent(c.batch_size, rows));
      shape s{c.batch_size, rows};
      for (int i = 1; i < joint.rank(); ++i) s.push_back(joint.extent(i));
      return reshape(joint, s);
    },
    .add_to = [](const call& c, const array& sum) -> array { return scatter_add(sum, c[0], c[1]); },
    .kernels = kernels_of<scatter_add_p>,
};

inline constexpr op scatter_add_onto_p{
    .name = "scatter_add_onto",
    .memory = {.overwrites = 0},
    .precision = {.sums = true},
    .cost = {.operations = [](const call& c) -> op_cost { return {static_cast<double>(c[2].size())}; },
             .bytes = [](const call& c) { return detail::scattered_bytes(c[1], c[2]); }},
    .infer = [](const call& c) -> array_type {
      if (c[0].rank() < 1 || c[0].dtype() == bool_)
        return c.fail("scatter_add: operand", c[0].type(), "numbers with at least one axis");
      const array_type t = detail::scatter_type(c, c[1], c[2], c[0].extent(0));
      if (t.dtype != c[0].dtype() || t.shape != c[0].shape())
        return c.fail("scatter_add: operand", c[0].type(), message() << t);
      return t;
    },
    .compose = [](const call& c) -> arrays { return c[0] + scatter_add(c[1], c[2], c[0].extent(0)); },
    .kernels = kernels_of<scatter_add_onto_p>,
};

/// table[indices] along the first axis. An index outside [0, rows) gives a row of NaN; for signed integers a row of the
/// lowest number, for unsigned ones of the highest.
///
/// shapes  table [R, ...], indices [...] -> indices.shape + table.shape[1:]
/// dtypes  indices i32 or i64
/// errors  "gather: table", "gather: index dtype"
/// source  jax.lax.gather with mode "fill"
constexpr array gather(const array& table, const array& indices, source_line l) {
  return bind(described<gather_p>(), {table, indices}, words{}, l);
}

/// Adds the rows of `updates`, by index, to a result of zeros. Indices outside are dropped.
///
/// shapes  indices [...], updates indices.shape + rest -> [rows] + rest
/// errors  "scatter_add: updates", "scatter_add: rows"
/// source  jax.lax.scatter_add
constexpr array scatter_add(const array& indices, const array& updates, std::int64_t rows, source_line l) {
  return bind(described<scatter_add_p>(), {indices, updates}, scatter_attributes{rows}, l);
}

/// Adds the rows of `updates`, by index, to `operand`. Indices outside are dropped.
///
/// shapes  operand [rows] + rest, indices [...], updates indices.shape + rest -> operand.shape
/// dtypes  all but bool; indices i32 or i64
/// errors  "scatter_add: updates", "scatter_add: operand"
/// source  jax.lax.scatter_add
constexpr array scatter_add(const array& operand, const array& indices, const array& updates, source_line l) {
  return bind(described<scatter_add_onto_p>(), {operand, indices, updates}, words{}, l);
}

}  // namespace tokamax
