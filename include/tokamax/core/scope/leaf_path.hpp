// tokamax/core/scope/leaf_path.hpp: the path of the argument's leaf that a value of a trace is.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/scope/layer_scope.cpp
#pragma once

#include <tokamax/core/graph.hpp>  // graph
#include <tokamax/core/op.hpp>     // op

namespace tokamax::detail {

/// The path of the leaf that node `id` is, or is made of: a parameter may have been converted, reshaped, or added to. 0 if
/// there is none.
constexpr int leaf_path(const graph& g, int id) {
  for (int steps = 0; steps < 8; ++steps) {
    const node& n = g[id];
    if (!n.op || (n.operand_count == 0 && n.op->unique)) return n.scope.name;  // an input, or an entry of a batch
    if (n.operand_count == 0 || (n.op->memory.kind == op_kind::general && !n.op->in_product)) return 0;
    id = g.operand(n, 0);
  }
  return 0;
}
/// The same for a value of `g` or of a graph around it, as a name of `g`.
constexpr int leaf_path_in(graph& g, const array& a) {
  const graph* const from = a.trace();
  if (!from) return 0;
  const int path = leaf_path(*from, a.id());
  return from == &g || path == 0 ? path : g.names.import(0, from->names, path);
}

}  // namespace tokamax::detail
