// tokamax/core/graph/composed.hpp: the meaning of a call in smaller ops, as a graph.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/passes/lower.cpp
#pragma once

#include <tokamax/core/trace.hpp>  // ambient_trace

namespace tokamax {

/// The `compose` of a call, traced into a graph of its own on inputs like the operands.
constexpr graph composed(const call& c) {
  graph g;
  arrays in;
  for (int k = 0; k < c.count; ++k) in.push_back(array(&g, g.input(c[k].type()), c[k].type()));
  call asked = c;
  asked.inputs = in.data();
  asked.trace = &g;
  words w = c.attribute_words();
  for (int b = 0; b < body_count(c); ++b) {
    g.bodies.push_back(graph(c.body(b)));
    body_word(*c.self, w, b) = b;
  }
  asked.attributes = w.data();
  const ambient_trace scope(g);
  for (const array& y : c.self->compose(asked)) g.outputs.push_back(lift(g, y).id());
  return g;
}

}  // namespace tokamax
