// tokamax/compiler/freeze.hpp: exact-size constant copies of what a constant expression built.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/program.cpp
#pragma once

#include <tokamax/compiler/plan.hpp>  // plan
#include <tokamax/core/inline.hpp>    // live_nodes

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
  int nodes = 0, operands = 0, words = 0, inputs = 0, outputs = 0, bodies = 0;
  int node_count = 0, operand_count = 0, word_count = 0, input_count = 0, output_count = 0, body_count = 0;
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
  vec<char> live = live_nodes(g);
  for (int i : g.inputs) live[i] = 1;
  graph_extent e;
  e.nodes = n.nodes;
  e.operands = n.operands;
  e.words = n.words;
  e.inputs = n.inputs;
  e.outputs = n.outputs;
  e.input_count = g.inputs.count();
  e.output_count = g.outputs.count();
  vec<int> map(g.nodes.size(), -1);
  vec<int> bodies;
  int nodes = n.nodes, operands = n.operands, words = n.words;
  for (int i = 0; i < g.count(); ++i) {
    if (!live[i]) continue;
    const node& from = g.nodes[i];
    node& to = f.nodes[nodes];
    to = from;
    to.first_operand = operands - e.operands;
    for (int k = 0; k < from.operand_count; ++k) f.operands[operands++] = map[g.operands[from.first_operand + k]];
    if (from.kind) {
      to.first_word = words - e.words;
      for (int k = 0; k < from.word_count; ++k) f.words[words++] = g.words[from.first_word + k];
      if (from.kind->has_body) {
        bodies.push_back(static_cast<int>(g.words[from.first_word]));
        f.words[words - from.word_count] = bodies.count() - 1;
      }
    }
    map[i] = nodes++ - e.nodes;
  }
  e.node_count = nodes - e.nodes;
  e.operand_count = operands - e.operands;
  e.word_count = words - e.words;
  n.nodes = nodes;
  n.operands = operands;
  n.words = words;
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
  auto part = []<class T>(const T* table, int from, int count) {
    return vec<T>(table + from, static_cast<std::size_t>(count));
  };
  graph g;
  g.nodes = part(f.nodes, e.nodes, e.node_count);
  g.operands = part(f.operands, e.operands, e.operand_count);
  g.words = part(f.words, e.words, e.word_count);
  g.inputs = part(f.inputs, e.inputs, e.input_count);
  g.outputs = part(f.outputs, e.outputs, e.output_count);
  for (int b = 0; b < e.body_count; ++b) g.bodies.push_back(thaw(f, e.bodies + b));
  return g;
}

}  // namespace tokamax
