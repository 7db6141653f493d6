// tokamax/kernel/estimate_cost.hpp: what a function would cost as one kernel, for the `cost_estimate` of that kernel.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/estimate_cost.cpp
#pragma once

#include <tokamax/core/graph/cost.hpp>        // cost_of, op_cost
#include <tokamax/transforms/eval_shape.hpp>  // make_graph

namespace tokamax {

/// The operations of f on arguments like these, and the bytes of a kernel that reads each argument and writes each result once:
///
///   kernel_call(body, {..., .cost_estimate = estimate_cost(meaning, x, w)})
///
/// Operations are counted as by `cost_analysis`, which differs in the bytes: there each op reads and writes memory.
///
/// shapes  those of f; arguments need no data
/// errors  "estimate_cost: dynamic extent"; those of f
/// source  jax.experimental.pallas.estimate_cost, which counts no comparisons, conversions, reductions and loops
template <class F, class... Args>
constexpr op_cost estimate_cost(const F& f, const Args&... args) {
  const graph g = make_graph(f, args...);
  if (g.dynamic) detail::throw_error("estimate_cost: dynamic extent", "a symbol", "arguments of known extents", {});
  op_cost cost = cost_of(g);
  cost.bytes_accessed = 0;
  for (const int i : g.inputs) cost.bytes_accessed += bytes_of(g[i].type);
  for (const int i : g.outputs) cost.bytes_accessed += bytes_of(g[i].type);
  return cost;
}

}  // namespace tokamax
