// tokamax/lax/indexing/true_positions.hpp: where the true elements of a line are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/cumulative.hpp>        // cumsum
#include <tokamax/lax/indexing/scatter.hpp>  // scatter
#include <tokamax/lax/iota.hpp>              // iota

namespace tokamax {

/// Attributes of true_positions: how many entries the result has.
struct true_positions_options {
  std::int64_t size = 0;
};

inline constexpr op true_positions_p{
    .name = "true_positions",
    .cost = {.operations = [](const call& c) -> op_cost { return {static_cast<double>(c[0].size())}; }},
    .attributes = schema<true_positions_options>,
    .infer = [](const call& c) -> array_type {
      const std::int64_t size = c.attrs<true_positions_options>().size;
      if (c[0].dtype() != bool_ || c[0].rank() != 1)
        return c.fail("true_positions: operand", c[0].type(), "booleans with one axis");
      if (c[0].extent(0) > most_indices)
        return c.fail("true_positions: elements", c[0].type(), message("at most ") << most_indices);
      if (size < 0) return c.fail("true_positions: size", message() << size, "0 or more");
      return {i32, false, {size}};
    },
    .compose = [](const call& c) -> arrays {
      const array& mask = c[0];
      const array rank = cumsum(astype(mask, i32)) - 1;    // the entry that each true element gets
      const array outside(-2147483648, {i32, false, {}});  // no row: a scatter drops it, and checkify knows it
      const array n(mask.extent(0), {i32, false, {}});
      const array empty = broadcast_to(n, {c.attrs<true_positions_options>().size});
      return scatter(empty, select(mask, rank, outside), iota(i32, mask.shape(), 0));
    },
    .kernels = kernels_of<true_positions_p>,
};

/// The numbers of the true elements of `mask`, in order. Those beyond `size` are dropped, and n fills missing entries.
///
/// shapes  mask [n] -> [size]
/// dtypes  bool -> i32
/// errors  "true_positions: operand", "true_positions: size", "true_positions: elements" for more than 2147483647
/// source  jax.numpy.flatnonzero with size and a fill_value of n
constexpr array true_positions(const array& mask, std::int64_t size, source_line l = source_line::current()) {
  return bind(described<true_positions_p>(), {mask}, true_positions_options{size}, l);
}

}  // namespace tokamax
