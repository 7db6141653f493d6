// tokamax/transforms/cost_analysis.hpp: how much a function computes and how much memory it accesses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/graph/cost.hpp>        // cost_of
#include <tokamax/transforms/eval_shape.hpp>  // make_graph

namespace tokamax {

/// The work of f on arguments like these; their values do not matter, and nothing is computed.
///
///   const auto c = cost_analysis(f, x, w);
///   c.flops / c.bytes_accessed  // operations a byte
///
/// The ops of the traced function are counted one by one, before fusion, by the rules of `operations_of`. So bytes are those
/// of a program in which every op reads its operands from memory and writes its results there; fused programs access
/// fewer, and recordings of them (profile/timeline.hpp) tell how many.
///
/// errors  "cost_analysis: dynamic extent"; those of f
/// source  jax.stages.Lowered.cost_analysis, XLA's HloCostAnalysis. There a scan counts as one step, because XLA sees a
///         while loop, and ops such as attention or layer_norm are several ops that access memory each
template <class F, class... Args>
constexpr op_cost cost_analysis(const F& f, const Args&... args) {
  const graph g = make_graph(f, args...);
  if (g.dynamic) detail::throw_error("cost_analysis: dynamic extent", "a symbol", "arguments of known extents", {});
  return cost_of(g);
}

}  // namespace tokamax
