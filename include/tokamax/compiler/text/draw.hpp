// tokamax/compiler/text/draw.hpp: programs as Graphviz drawings, before and after compilation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>    // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/passes/fuse.hpp>  // fusion
#include <tokamax/compiler/plan.hpp>         // plan_view
#include <tokamax/core/op.hpp>               // graph

#include <string>  // string

namespace tokamax {

/// A graph in the language of Graphviz: `dot -Tsvg` draws it. Kernels are boxes, elementwise ops ellipses, inputs and
/// outputs filled. Bodies of loops and branches are boxes around their nodes.
std::string to_dot(const graph& g);
/// The same for a lowered graph, with a box around each group of nodes that share a loop.
std::string to_dot(const graph& g, const fusion& groups);
/// A plan in the language of Graphviz: its steps in the order in which they run, and arrows for the memory through which one
/// gives a value to another.
std::string to_dot(const plan_view& p);

}  // namespace tokamax

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/text/print.hpp>       // step_text, operand_place
  #include <tokamax/compiler/text/scope_text.hpp>  // append_escaped

  #include <string_view>  // string_view
  #include <vector>       // vector

namespace tokamax {
namespace detail {
/// The text of a label, whatever characters it has.
inline std::string dot_text(std::string_view s) {
  std::string out;
  append_escaped(out, s);
  return out;
}

/// Writes the nodes of a graph and of its bodies. The names of nodes begin with `prefix`.
class graph_drawing {
 public:
  std::string text = "digraph program {\n  rankdir=TB; node [fontname=\"sans-serif\", fontsize=11];\n";

  /// Draws nodes, the arrows from operands to users, a frame around each group that is one loop, and the bodies in frames.
  void add(const graph& g, const std::string& prefix, const fusion* groups) {
    std::vector<char> is_output(g.nodes.size(), 0);
    for (const int o : g.outputs) is_output[static_cast<std::size_t>(o)] = 1;
    for (int i = 0; i < g.count(); ++i) add_node(g, i, prefix, is_output[static_cast<std::size_t>(i)]);
    for (int i = 0; i < g.count(); ++i)
      for (int k = 0; k < g[i].operand_count; ++k)
        line(prefix + "n" + std::to_string(g.operand(g[i], k)) + " -> " + prefix + "n" + std::to_string(i) + ";");
    for (int i = 0; groups && i < g.count(); ++i)
      if (groups->root[i] == i) add_group(*groups, i, prefix);
    for (int b = 0; b < g.bodies.count(); ++b) {
      open(prefix + "body" + std::to_string(b), "body " + std::to_string(b));
      add(g.bodies[b], prefix + "b" + std::to_string(b) + "_", nullptr);
      line("}");
    }
  }

 private:
  void line(const std::string& s) { text.append("  ").append(s) += '\n'; }
  void open(const std::string& name, const std::string& label) {
    line("subgraph cluster_" + name + " { label=\"" + dot_text(label) + "\";");
  }
  /// Ops with kernels are boxes, elementwise ops and views ellipses; inputs and results have a colour.
  void add_node(const graph& g, int i, const std::string& prefix, bool is_output) {
    const node& n = g[i];
    std::string label = op_name(n) + "\n" + as_string(n.type);
    if (n.scope.name) label.append("\n").append(g.name_of(n).view());
    const bool box = n.op && n.op->memory.kind == op_kind::general;
    const char* const fill = !n.op       ? ", style=filled, fillcolor=\"#dbe9f6\""
                             : is_output ? ", style=filled, fillcolor=\"#f6e3db\""
                                         : "";
    line(prefix + "n" + std::to_string(i) + " [label=\"" + dot_text(label) + "\", shape=" + (box ? "box" : "ellipse") +
         fill + "];");
  }
  void add_group(const fusion& groups, int root, const std::string& prefix) {
    std::string members;
    for (int i = root; i < groups.root.count(); ++i)
      if (groups.root[i] == root) members.append(" ").append(prefix).append("n").append(std::to_string(i)) += ';';
    open("group" + std::to_string(root), "phase " + std::to_string(groups.phase[root]));
    line(members + " }");
  }
};
}  // namespace detail

TOKAMAX_COMPILED_ONCE std::string to_dot(const graph& g) {
  detail::graph_drawing d;
  d.add(g, "", nullptr);
  return d.text + "}\n";
}
TOKAMAX_COMPILED_ONCE std::string to_dot(const graph& g, const fusion& groups) {
  detail::graph_drawing d;
  d.add(g, "", &groups);
  return d.text + "}\n";
}

TOKAMAX_COMPILED_ONCE std::string to_dot(const plan_view& p) {
  std::string s = "digraph plan {\n  rankdir=TB; node [fontname=\"sans-serif\", fontsize=11, shape=box];\n";
  std::vector<std::vector<std::string>> writers(static_cast<std::size_t>(p.buffer_count));
  const auto end_of = [&](int buffer) -> std::string {  // an input or output
    const plan_buffer& b = p.buffers[buffer];
    return (b.kind == buffer_kind::input ? "input " : "output ") + std::to_string(b.index);
  };
  for (int r = 0; r < p.region_count; ++r) {
    const plan_region& region = p.regions[r];
    if (r) s += "  subgraph cluster_" + std::to_string(r) + " { label=\"body " + std::to_string(r) + "\";\n";
    for (int k = 0; k < region.input_count + region.output_count; ++k) {
      const bool input = k < region.input_count;
      const auto b = static_cast<int>(p.numbers[input ? region.inputs + k : region.outputs + k - region.input_count]);
      if (b < 0) continue;
      s += "  b" + std::to_string(b) + " [label=\"" + end_of(b) + "\", shape=ellipse, style=filled, fillcolor=\"" +
           (input ? "#dbe9f6" : "#f6e3db") + "\"];\n";
      if (input) writers[static_cast<std::size_t>(b)].push_back("b" + std::to_string(b));
    }
    for (int i = region.first_step; i < region.first_step + region.step_count; ++i) {
      const plan_step& st = p.steps[i];
      const std::string name = "s" + std::to_string(i);
      std::string label = std::to_string(i) + " " + detail::step_text(p, st);
      if (st.kind == step_kind::loop && p.loops) label += "\n" + expression_text(p, st.function);
      if (st.scope) label.append("\n").append(p.scope_of(st).name);
      s += "  " + name + " [label=\"" + detail::dot_text(label) + "\"];\n";
      for (int k = 0; k < st.in_count + st.out_count; ++k) {
        const plan_operand& o = p.operands[st.operands + k];
        if (o.buffer == plan_operand::handed_over && k >= st.in_count)
          s += "  " + name + " -> s" + std::to_string(i + 1) + " [label=\"parts\"];\n";
        if (o.buffer < 0) continue;
        std::vector<std::string>& from = writers[static_cast<std::size_t>(o.buffer)];
        if (k >= st.in_count) {
          from.push_back(name);
          continue;
        }
        for (const std::string& writer : from)
          s += "  " + writer + " -> " + name + " [label=\"" + detail::operand_place(p, o) + "\"];\n";
      }
    }
    for (int k = 0; k < region.output_count; ++k)
      for (const std::string& writer : writers[static_cast<std::size_t>(p.numbers[region.outputs + k])])
        s += "  " + writer + " -> b" + std::to_string(p.numbers[region.outputs + k]) + ";\n";
    if (r) s += "  }\n";
  }
  return s + "}\n";
}

}  // namespace tokamax
#endif
