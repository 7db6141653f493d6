// tokamax/transforms/rewrite/leaf_cut.hpp: a program cut in two: what makes new leaves of an argument, and what uses them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (few programs change what they take)
// tested by tests/transforms/rewrite/rewrite.cpp
#pragma once

#include <tokamax/core/graph/inline.hpp>  // inline_graph

#include <algorithm>  // find
#include <string>     // string
#include <vector>     // vector

namespace tokamax {

/// A value of a program that only depends on the leaves of its first argument. It becomes a leaf itself, under this path.
struct leaf_cut {
  int node = -1;
  std::string path;
};

/// What a pass makes of a program: a graph with the same inputs and results, and the values that are to be its leaves.
struct rewritten_graph {
  graph program;
  std::vector<leaf_cut> cuts;
};

/// The two halves of a program. `prepare` takes the leaves of the first argument and computes the new ones. `program` takes
/// the new leaves, followed by the other inputs.
struct cut_program {
  graph prepare, program;
  std::vector<std::string> paths;  ///< of the new leaves, all different
};

/// Which nodes depend on the first `leaves` inputs of a graph and on constants only?
inline std::vector<char> nodes_of_leaves(const graph& g, int leaves) {
  std::vector<char> own(static_cast<std::size_t>(g.count()), 0);
  for (int i = 0; i < g.count(); ++i) {
    const node& n = g[i];
    char& of_leaves = own[static_cast<std::size_t>(i)];
    of_leaves = n.op ? n.op->effect == effect_kind::none : n.first_word < leaves;
    for (int k = 0; k < n.operand_count; ++k) of_leaves &= own[static_cast<std::size_t>(g.operand(n, k))];
  }
  return own;
}

namespace detail {
/// The live part of `g` with other inputs and outputs, as a graph of its own.
inline graph part_of(graph g, const vec<int>& inputs, const vec<int>& outputs, bool with_effects) {
  g.inputs = inputs;
  g.outputs = outputs;
  if (!with_effects) g.effects.clear();
  for (int k = 0; k < inputs.count(); ++k) {
    node& n = g.nodes[inputs[k]];
    n.op = nullptr;
    n.operand_count = 0;
    n.first_word = k;
  }
  graph part;
  arrays in;
  for (const int id : inputs) {
    const int path = part.names.import(0, g.names, g[id].scope.name);
    in.push_back(array(&part, part.input(g[id].type, path), g[id].type));
  }
  for (const array& y : inline_graph(part, g, in.data())) part.outputs.push_back(lift(part, y).id());
  return part;
}
}  // namespace detail

/// Cuts a program whose first `leaves` inputs are those of the argument. Leaves that are still used keep their paths.
/// errors  "rewrite: leaf" for a value that depends on more than the argument
inline cut_program cut(const rewritten_graph& r, int leaves) {
  const graph& g = r.program;
  const std::vector<char> own = nodes_of_leaves(g, leaves);
  graph used = g;  // the program with its cuts, to see what it still reads
  for (const leaf_cut& c : r.cuts) {
    if (c.node < 0 || c.node >= g.count() || !own[static_cast<std::size_t>(c.node)])
      throw error("rewrite: leaf", c.path + " depends on more than the argument", "a value of its leaves alone");
    node& n = used.nodes[c.node];
    n.op = nullptr;
    n.operand_count = 0;
    n.scope = {used.names.read(0, c.path), 0};
  }
  const vec<char> live = live_nodes(used);
  cut_program p;
  vec<int> made, inputs, old;
  const auto add = [&](int id, const std::string& path) {
    std::string name = path;
    for (int again = 1; std::find(p.paths.begin(), p.paths.end(), name) != p.paths.end(); ++again)
      name = path + "[" + std::to_string(again) + "]";
    p.paths.push_back(name);
    made.push_back(id);
    inputs.push_back(id);
  };
  for (int k = 0; k < leaves; ++k) {
    old.push_back(g.inputs[k]);
    if (live[g.inputs[k]]) add(g.inputs[k], std::string(g.name_of(g[g.inputs[k]]).view()));
  }
  for (const leaf_cut& c : r.cuts)
    if (live[c.node] && used[c.node].op == nullptr) add(c.node, c.path);
  for (int k = leaves; k < g.inputs.count(); ++k) inputs.push_back(g.inputs[k]);
  p.prepare = detail::part_of(g, old, made, false);
  p.program = detail::part_of(std::move(used), inputs, g.outputs, true);
  return p;
}

}  // namespace tokamax
