// tokamax/compiler/freeze.hpp: exact-size constant copies of what a constant expression built.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/program.cpp
#pragma once

#include <tokamax/compiler/plan.hpp>  // plan
#include <tokamax/core/op.hpp>        // op, graph

namespace tokamax {

/// Sizes of a plan's tables.
struct plan_size {
  int instructions = 0, loops = 0, ops = 0, operands = 0, steps = 0, buffers = 0, regions = 0, numbers = 0;
};
constexpr plan_size size_of(const plan& p) {
  return {p.instructions.count(), p.loops.count(),   p.ops.count(),     p.operands.count(),
          p.steps.count(),        p.buffers.count(), p.regions.count(), p.numbers.count()};
}

/// A plan as one constant object. A program is evaluated once, into tables of generous capacity (whose unused tail costs
/// the compiler nothing), and then cut to size: evaluating it twice, for sizes and for contents, costs three times as much.
template <plan_size Size>
struct frozen_plan {
  instruction instructions[Size.instructions + 1];
  loop_kernel loops[Size.loops + 1];
  const op* ops[Size.ops + 1];
  plan_operand operands[Size.operands + 1];
  plan_step steps[Size.steps + 1];
  plan_buffer buffers[Size.buffers + 1];
  plan_region regions[Size.regions + 1];
  std::int64_t numbers[Size.numbers + 1];
};

inline constexpr plan_size plan_capacity{1 << 13, 1 << 10, 1 << 8, 1 << 16, 1 << 14, 1 << 15, 1 << 8, 1 << 19};

template <plan_size Size>
constexpr bool fits(const plan_size& n) {
  return n.instructions <= Size.instructions && n.loops <= Size.loops && n.ops <= Size.ops &&
         n.operands <= Size.operands && n.steps <= Size.steps && n.buffers <= Size.buffers &&
         n.regions <= Size.regions && n.numbers <= Size.numbers;
}

template <plan_size Size>
constexpr void freeze(frozen_plan<Size>& f, const auto& p, const plan_size& n) {
  for (int i = 0; i < n.instructions; ++i) f.instructions[i] = p.instructions[i];
  for (int i = 0; i < n.loops; ++i) f.loops[i] = p.loops[i];
  for (int i = 0; i < n.ops; ++i) f.ops[i] = p.ops[i];
  for (int i = 0; i < n.operands; ++i) f.operands[i] = p.operands[i];
  for (int i = 0; i < n.steps; ++i) f.steps[i] = p.steps[i];
  for (int i = 0; i < n.buffers; ++i) f.buffers[i] = p.buffers[i];
  for (int i = 0; i < n.regions; ++i) f.regions[i] = p.regions[i];
  for (int i = 0; i < n.numbers; ++i) f.numbers[i] = p.numbers[i];
}

template <plan_size Size>
constexpr plan_view view(const frozen_plan<Size>& p) {
  return {p.instructions, p.loops,    p.ops,    p.operands,    p.steps,    p.buffers,    p.regions,
          p.numbers,      Size.loops, Size.ops, Size.operands, Size.steps, Size.buffers, Size.regions};
}

/// Sizes of a graph's tables, its bodies laid one after the other.
struct graph_size {
  int nodes = 0, operands = 0, words = 0, inputs = 0, outputs = 0, graphs = 0, ops = 0;
};

/// Where one graph lies in the joint tables.
struct graph_extent {
  int nodes = 0, inputs = 0, outputs = 0, bodies = 0, node_count = 0, input_count = 0, output_count = 0, body_count = 0;
};

/// A graph as one constant object: what the trace hands to the planner.
template <graph_size Size>
struct frozen_graph {
  node nodes[Size.nodes + 1];
  int operands[Size.operands + 1];
  std::int64_t words[Size.words + 1];
  int inputs[Size.inputs + 1], outputs[Size.outputs + 1];
  graph_extent graphs[Size.graphs + 1];
  const op* ops[Size.ops + 1];  ///< every op of the program and of what these are composed of
};

inline constexpr graph_size graph_capacity{1 << 15, 1 << 16, 1 << 18, 1 << 13, 1 << 13, 1 << 8, 1 << 8};

namespace detail {
/// Writes the live part of a graph behind what is there already.
template <graph_size Size>
constexpr void freeze(frozen_graph<Size>& f, graph_size& n, const graph& g, int self) {
  vec<char> live(g.nodes.size(), 0);
  for (int o : g.outputs) live[o] = 1;
  for (int i : g.inputs) live[i] = 1;
  for (int i = g.count() - 1; i >= 0; --i)
    if (live[i])
      for (int k = 0; k < g[i].operand_count; ++k) live[g.operand(g[i], k)] = 1;
  graph_extent e;
  e.nodes = n.nodes;
  e.inputs = n.inputs;
  e.outputs = n.outputs;
  e.input_count = g.inputs.count();
  e.output_count = g.outputs.count();
  vec<int> map(g.nodes.size(), -1);
  vec<int> bodies;
  for (int i = 0; i < g.count(); ++i) {
    if (!live[i]) continue;
    node c = g[i];
    c.first_operand = n.operands;
    for (int k = 0; k < c.operand_count; ++k) f.operands[n.operands++] = map[g.operand(g[i], k)];
    if (c.kind) {
      c.first_word = n.words;
      for (int k = 0; k < c.word_count; ++k) f.words[n.words++] = g.words_of(g[i])[k];
      if (c.kind->has_body) {
        bodies.push_back(static_cast<int>(g.words_of(g[i])[0]));
        f.words[c.first_word] = bodies.count() - 1;
      }
      if (c.word_count == 0) c.first_word = 0;
    }
    map[i] = n.nodes - e.nodes;
    f.nodes[n.nodes++] = c;
  }
  e.node_count = n.nodes - e.nodes;
  for (int i : g.inputs) f.inputs[n.inputs++] = map[i];
  for (int o : g.outputs) f.outputs[n.outputs++] = map[o];
  e.bodies = n.graphs;
  e.body_count = bodies.count();
  n.graphs += bodies.count();
  f.graphs[self] = e;
  for (int b = 0; b < bodies.count(); ++b) freeze(f, n, g.bodies[bodies[b]], e.bodies + b);
}
}  // namespace detail

/// Rebuilds graph `self` from the joint tables.
constexpr graph thaw(const auto& f, int self = 0) {
  const graph_extent e = f.graphs[self];
  graph g;
  g.nodes.reserve(static_cast<std::size_t>(e.node_count));
  for (int i = 0; i < e.node_count; ++i) {
    node n = f.nodes[e.nodes + i];
    const int operand = n.first_operand, word = n.first_word;
    n.first_operand = g.operands.count();
    for (int k = 0; k < n.operand_count; ++k) g.operands.push_back(f.operands[operand + k]);
    if (n.kind) {
      n.first_word = g.words.count();
      for (int k = 0; k < n.word_count; ++k) g.words.push_back(f.words[word + k]);
    }
    g.nodes.push_back(n);
  }
  for (int i = 0; i < e.input_count; ++i) g.inputs.push_back(f.inputs[e.inputs + i]);
  for (int i = 0; i < e.output_count; ++i) g.outputs.push_back(f.outputs[e.outputs + i]);
  for (int b = 0; b < e.body_count; ++b) g.bodies.push_back(thaw(f, e.bodies + b));
  return g;
}

}  // namespace tokamax
