// tokamax/compiler/print.hpp: programs as text and as Graphviz drawings, before and after compilation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/compiler/plan.hpp>  // plan_view
#include <tokamax/core/op.hpp>        // graph, op

#include <fmt/core.h>  // format

#include <bit>     // bit_cast
#include <string>  // string

namespace tokamax {

namespace detail {
inline std::string as_string(const text& t) { return std::string(t.view()); }
inline std::string node_name(const graph& g, int id) {
  if (g[id].kind) return fmt::format("%{}", id);
  return fmt::format("%in{}", g[id].first_word);
}
inline std::string op_name(const node& n) { return n.kind ? std::string(n.kind->name) : "input"; }
inline std::string node_value(const graph& g, int id) {
  const node& n = g[id];
  if (n.kind && n.kind->name == "constant") return fmt::format("constant {}", std::bit_cast<double>(*g.words_of(n)));
  std::string s = op_name(n) + "(";
  for (int k = 0; k < n.operand_count; ++k) s += (k ? ", " : "") + node_name(g, g.operand(n, k));
  s += ")";
  if (n.kind && n.kind->name == "get") s += fmt::format(" output {}", *g.words_of(n));
  return s;
}
}  // namespace detail

/// A graph as text: one line a node, `%5 = add(%3, %4) : f32[2,3]`.
inline std::string to_text(const graph& g) {
  std::string s;
  for (int i = 0; i < g.count(); ++i) {
    const node& n = g[i];
    if (n.kind == nullptr)
      s += fmt::format("{} : {}\n", detail::node_name(g, i), detail::as_string(n.type));
    else if (n.type.type == dtype::none)
      s += fmt::format("{} = {}\n", detail::node_name(g, i), detail::node_value(g, i));
    else
      s += fmt::format("{} = {} : {}\n", detail::node_name(g, i), detail::node_value(g, i), detail::as_string(n.type));
  }
  s += "return";
  for (int k = 0; k < g.outputs.count(); ++k) s += (k ? ", " : " ") + detail::node_name(g, g.outputs[k]);
  return s + "\n";
}

/// A graph in the language of Graphviz: `dot -Tsvg` draws it. Kernels are boxes, elementwise ops ellipses, inputs and
/// outputs filled.
inline std::string to_dot(const graph& g) {
  std::string s = "digraph program {\n  rankdir=TB; node [fontname=\"sans-serif\", fontsize=11];\n";
  for (int i = 0; i < g.count(); ++i) {
    const node& n = g[i];
    const bool output = [&] {
      for (int o : g.outputs)
        if (o == i) return true;
      return false;
    }();
    const char* shape = n.kind && n.kind->kind == op_kind::general ? "box" : "ellipse";
    s +=
        fmt::format("  n{} [label=\"{}\\n{}\", shape={}{}];\n", i, detail::op_name(n), detail::as_string(n.type), shape,
                    !n.kind  ? ", style=filled, fillcolor=\"#dbe9f6\""
                    : output ? ", style=filled, fillcolor=\"#f6e3db\""
                             : "");
    for (int k = 0; k < n.operand_count; ++k) s += fmt::format("  n{} -> n{};\n", g.operand(n, k), i);
  }
  return s + "}\n";
}

/// The expression of loop `k` of a plan, one assignment a result: `out0 = add(mul(in0, 0.1), in1)`. Values used more
/// than once are named.
inline std::string expression_text(const plan_view& p, int k, const double* constants = nullptr) {
  const loop_kernel& loop = p.loops[k];
  const instruction* lines = p.instructions + loop.first;
  std::string s;
  std::vector<int> uses(static_cast<std::size_t>(loop.count), 0);
  std::vector<std::string> value(static_cast<std::size_t>(loop.count));
  for (int i = 0; i < loop.count; ++i)
    if (lines[i].kind == instruction::what::apply || lines[i].kind == instruction::what::store)
      for (short r : {lines[i].a, lines[i].kind == instruction::what::store ? short(-1) : lines[i].b, lines[i].c})
        if (r >= 0) ++uses[static_cast<std::size_t>(r)];
  for (int i = 0; i < loop.count; ++i) {
    const instruction& l = lines[i];
    std::string& v = value[static_cast<std::size_t>(i)];
    auto at = [&](short r) { return value[static_cast<std::size_t>(r)]; };
    switch (l.kind) {
      case instruction::what::constant:
        v = constants ? fmt::format("{:.6g}", constants[l.a]) : fmt::format("c{}", l.a);
        break;
      case instruction::what::load:
        v = fmt::format("in{}", l.a);
        break;
      case instruction::what::iota:
        v = fmt::format("count{}", l.a);
        break;
      case instruction::what::store:
        s += fmt::format("out{} = {}; ", l.b - (loop.slots - loop.stores), at(l.a));
        break;
      case instruction::what::apply:
        v = std::string(l.function->name) + "(" + at(l.a) + (l.b >= 0 ? ", " + at(l.b) : "") +
            (l.c >= 0 ? ", " + at(l.c) : "") + ")";
        if (uses[static_cast<std::size_t>(i)] > 1) {
          s += fmt::format("t{} = {}; ", i, v);
          v = fmt::format("t{}", i);
        }
        break;
    }
  }
  return s.substr(0, s.size() - 2);
}

/// The fused loops of a plan as text. On the CPU each is one type, `simd::expression<line<...>...>`, with one line for each
/// load, op and store.
inline std::string loops_to_text(const plan_view& p) {
  std::string s;
  for (int k = 0; k < p.loop_count; ++k) s += fmt::format("loop {}: {}\n", k, expression_text(p, k));
  return s;
}

/// A plan as text: the steps in order, with the memory they read and write, after the loops that they run.
inline std::string to_text(const plan_view& p) {
  auto where = [&](const plan_operand& o) -> std::string {
    if (o.buffer < 0) return "count";
    const plan_buffer& b = p.buffers[o.buffer];
    if (b.kind == plan_buffer::what::input) return fmt::format("input {}", b.index);
    if (b.kind == plan_buffer::what::output) return fmt::format("output {}", b.index);
    return fmt::format("arena+{}", b.offset);
  };
  std::string s = loops_to_text(p);
  for (int r = 0; r < p.region_count; ++r) {
    const plan_region& region = p.regions[r];
    s +=
        fmt::format("{}: {} steps, arena {} bytes (all intermediates: {})\n", r ? fmt::format("body {}", r) : "program",
                    region.step_count, region.arena_bytes, region.total_bytes);
    for (int i = region.first_step; i < region.first_step + region.step_count; ++i) {
      const plan_step& st = p.steps[i];
      s += fmt::format("  {:>3} {:<16}", i,
                       st.kind == plan_step::what::loop   ? fmt::format("loop {}", st.function)
                       : st.kind == plan_step::what::scan ? fmt::format("scan body {}", st.function)
                                                          : std::string(p.ops[st.function]->name));
      for (int k = 0; k < st.in_count + st.out_count; ++k)
        s += (k == st.in_count ? " -> " : k ? ", " : "") + where(p.operands[st.operands + k]);
      s += "\n";
    }
  }
  return s;
}

}  // namespace tokamax
