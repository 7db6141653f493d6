// tokamax/core/graph/dependencies.hpp: the nodes that some values depend on, in an order that the program alone decides.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/order.cpp
#pragma once

#include <tokamax/core/graph.hpp>  // graph

namespace tokamax {

/// The nodes with `wanted` set on which `roots` depend through such nodes; each comes after its operands. The order is
/// that of a walk from the roots through the lists of operands, and not the order in which the nodes were made. C++ does
/// not say which operand of an expression it evaluates first, and no result may depend on that choice.
constexpr vec<int> dependencies(const graph& g, const vec<int>& roots, const vec<char>& wanted) {
  enum : char { unseen, entered, listed };
  vec<int> order, open;
  vec<char> state(wanted.size(), unseen);
  const auto visit = [&](int id) {
    if (id < wanted.count() && wanted[id] && state[id] == unseen) open.push_back(id);
  };
  for (int k = roots.count() - 1; k >= 0; --k) visit(roots[k]);
  while (!open.empty()) {
    const int id = open.back();
    if (state[id] == unseen) {
      state[id] = entered;
      const node& n = g[id];
      for (int k = n.operand_count - 1; k >= 0; --k) visit(g.operand(n, k));
    } else {
      if (state[id] == entered) order.push_back(id);
      state[id] = listed;
      open.pop_back();
    }
  }
  return order;
}

/// Sorts the values that a body closes over into the order in which its results depend on them.
constexpr void order_captures(graph& body) {
  const int count = body.captures.count(), first = body.inputs.count() - count;
  if (count < 2) return;
  vec<int> place(body.nodes.size(), -1);  // for each captured input its number among the captures
  for (int k = 0; k < count; ++k) place[body.inputs[first + k]] = k;
  vec<int> order = dependencies(body, body.outputs, vec<char>(body.nodes.size(), 1)), captures, inputs;
  for (int k = 0; k < count; ++k)
    order.push_back(body.inputs[first + k]);  // those on which no result depends come last
  for (int id : order) {
    if (place[id] < 0) continue;
    captures.push_back(body.captures[place[id]]);
    inputs.push_back(id);
    place[id] = -1;
  }
  for (int k = 0; k < count; ++k) {
    body.inputs[first + k] = inputs[k];
    body.nodes[inputs[k]].first_word = first + k;
  }
  body.captures = captures;
}

}  // namespace tokamax
