// tokamax/compiler/text/print.hpp: programs as text, before and after compilation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/plan.hpp>       // plan_view
#include <tokamax/core/op.hpp>             // graph

#include <string>  // string

namespace tokamax {

/// A graph as text: the bodies of its control flow, then one line for each node, then its results. `parse_graph` reads it.
///
///   body 0 {                                               the first graph that an op of this one runs
///     %in0 : f32[3]
///     %1 = mul(%in0, %in0) : f32[3]
///     return %1
///   }
///   %in0 : f32[2,3] in weights                             input 0, and the path of its leaf
///   %1 = constant 0.1 : f32[3]                             one number for all elements
///   %2 = constant [1, 2, 3] : i32[3]                       a table in the program's text
///   %3 = captured 0 : f32[3]                               data that the trace closed over, see `captured_arrays`
///   %4 = sort(%1) in blocks[3].attend using sort=kernel    its scope, and the implementations that are chosen there
///   %5 = get(%4, output=0) : f32[3]                        the first result of an op with several
///   return %5
///
/// A number behind `%` is the place of a node in its graph. Behind the operands of an op stand its attributes by name, without
/// those that have their default values. A type is a dtype with extents, behind `weak` if it gives way to other dtypes; extents
/// that are known when the program runs are sums and products of symbols, such as `4n+1`. A name with spaces stands in quotes.
std::string to_text(const graph& g);

/// The data that the text of a graph calls `captured 0`, `captured 1`, ...: what parse_graph needs beside the text.
arrays captured_arrays(const graph& g);

/// Loop `k` of a plan as one assignment for each result: `out0 = add(mul(in0, 0.1), in1)`. A value that is used more than
/// once gets a name.
std::string expression_text(const plan_view& p, int k);

/// The fused loops of a plan as text. On the CPU each loop is one type, `cpu_backend::expression<line<...>...>`, with a line for
/// each load, op and store.
std::string loops_to_text(const plan_view& p);

/// A plan as text: its loops, then the steps in order with the memory that they read and write.
std::string to_text(const plan_view& p);

}  // namespace tokamax

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/text/attribute_text.hpp>  // attributes_text
  #include <tokamax/compiler/text/scope_text.hpp>      // append_scope
  #include <tokamax/core/bind.hpp>                     // constant_p

  #include <algorithm>  // min
  #include <map>        // map
  #include <sstream>    // ostringstream
  #include <vector>     // vector

namespace tokamax {
namespace detail {
inline std::string as_string(const message& t) { return std::string(t.view()); }
// `append` is used below because g++ 12 warns wrongly about `+` of a literal and a new string.
inline std::string numbered(const char* kind, std::int64_t n) { return std::string(kind).append(std::to_string(n)); }
inline std::string node_name(const graph& g, int id) {
  return g[id].op ? numbered("%", id) : numbered("%in", g[id].first_word);
}
inline std::string spaces(std::size_t width, const std::string& beside) {
  return std::string(width - std::min(width, beside.size()), ' ');
}
inline std::string op_name(const node& n) { return n.op ? op_text(*n.op) : "input"; }
/// The elements of a dense constant.
inline std::string dense_text(const graph& g, const node& n) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(g.words_of(n));
  std::string s = "[";
  dispatch(n.type.dtype, [&]<dtype T>() {
    for (std::int64_t i = 0; i < size(n.type.shape); ++i)
      s.append(i ? ", " : "")
          .append(element_text(element_bits::of(reinterpret_cast<const element_t<T>*>(bytes)[i]), T));
  });
  return s + "]";
}
/// The numbers of captured data, in the order in which the text mentions them.
struct captured_numbers {
  arrays all;
  std::map<std::pair<const void*, std::string>, int> numbers;
  int of(const graph& g, const node& n) {
    const handle& data = captured_data_of(g, n);
    const auto [at, added] = numbers.try_emplace({data.get(), type_text(n.type)}, all.count());
    if (added) all.push_back(array(data, n.type));
    return at->second;
  }
  void add(const graph& g) {
    for (const graph& body : g.bodies) add(body);
    for (const node& n : g.nodes)
      if (n.op == &captured_p) of(g, n);
  }
};
inline std::string node_value(const graph& g, int id, captured_numbers& captured) {
  const node& n = g[id];
  if (n.op == &captured_p) return numbered("captured ", captured.of(g, n));
  if (n.op == &constant_p) return "constant " + element_text(constant_bits(g, n), n.type.dtype);
  if (n.op == &dense_p) return "constant " + dense_text(g, n);
  std::string s = op_name(n) + "(";
  for (int k = 0; k < n.operand_count; ++k) s.append(k ? ", " : "").append(node_name(g, g.operand(n, k)));
  const std::string attributes = attributes_text(g, n);
  return s.append(attributes, n.operand_count || attributes.empty() ? 0 : 2) + ")";
}
inline void append_graph(std::string& s, const graph& g, const std::string& indent, captured_numbers& captured) {
  for (int b = 0; b < g.bodies.count(); ++b) {
    s.append(indent).append("body ").append(std::to_string(b)).append(" {\n");
    append_graph(s, g.bodies[b], indent + "  ", captured);
    s.append(indent).append("}\n");
  }
  for (int i = 0; i < g.count(); ++i) {
    const node& n = g[i];
    s.append(indent).append(node_name(g, i));
    if (n.op) s.append(" = ").append(node_value(g, i, captured));
    if (n.type.dtype != dtype::none) s.append(" : ").append(type_text(n.type));
    if (n.op != &constant_p && n.op != &dense_p) append_scope(s, g, n);
    s += '\n';
  }
  s.append(indent).append("return");
  for (int k = 0; k < g.outputs.count(); ++k) s.append(k ? ", " : " ").append(node_name(g, g.outputs[k]));
  s += '\n';
}
}  // namespace detail

TOKAMAX_COMPILED_ONCE std::string to_text(const graph& g) {
  std::string s;
  detail::captured_numbers captured;
  detail::append_graph(s, g, "", captured);
  return s;
}

TOKAMAX_COMPILED_ONCE arrays captured_arrays(const graph& g) {
  detail::captured_numbers captured;
  captured.add(g);
  return captured.all;
}

TOKAMAX_COMPILED_ONCE std::string expression_text(const plan_view& p, int k) {
  const loop_kernel& loop = p.loops[k];
  const instruction* lines = p.instructions + loop.first;
  std::ostringstream s;
  std::vector<int> uses(static_cast<std::size_t>(loop.count), 0);
  std::vector<std::string> value(static_cast<std::size_t>(loop.count));
  for (int i = 0; i < loop.count; ++i)
    if (lines[i].kind == instruction_kind::apply || lines[i].kind == instruction_kind::store)
      for (short r : {lines[i].a, lines[i].kind == instruction_kind::store ? short(-1) : lines[i].b, lines[i].c})
        if (r >= 0) ++uses[static_cast<std::size_t>(r)];
  for (int i = 0; i < loop.count; ++i) {
    const instruction& l = lines[i];
    std::string& v = value[static_cast<std::size_t>(i)];
    auto at = [&](short r) { return value[static_cast<std::size_t>(r)]; };
    switch (l.kind) {
      case instruction_kind::constant:
        v = detail::numbered("c", l.a);
        break;
      case instruction_kind::load:
        v = detail::numbered("in", l.a);
        break;
      case instruction_kind::iota:
        v = detail::numbered("count", l.a);
        break;
      case instruction_kind::store:
        s << detail::numbered("out", l.b - (loop.slot_count - loop.stores)) << " = " << at(l.a) << "; ";
        break;
      case instruction_kind::apply:
        v = std::string(l.function->name) + "(" + at(l.a) + (l.b >= 0 ? ", " + at(l.b) : "") +
            (l.c >= 0 ? ", " + at(l.c) : "") + ")";
        if (uses[static_cast<std::size_t>(i)] > 1) {
          s << detail::numbered("t", i) << " = " << v << "; ";
          v = detail::numbered("t", i);
        }
        break;
    }
  }
  return s.str().substr(0, s.str().size() - 2);
}

TOKAMAX_COMPILED_ONCE std::string loops_to_text(const plan_view& p) {
  std::ostringstream s;
  for (int k = 0; k < p.loop_count; ++k) s << "loop " << k << ": " << expression_text(p, k) << '\n';
  return s.str();
}

namespace detail {
/// The memory of an operand: "input 0", "arena+64".
inline std::string operand_place(const plan_view& p, const plan_operand& o) {
  if (o.buffer == plan_operand::handed_over) return "parts";
  if (o.buffer == plan_operand::count) return "count";
  const plan_buffer& b = p.buffers[o.buffer];
  if (b.kind == buffer_kind::input) return numbered("input ", b.index);
  if (b.kind == buffer_kind::output) return numbered("output ", b.index);
  if (b.kind == buffer_kind::constant) return "constant";
  return numbered("arena+", b.offset);
}
/// What a step runs: "loop 2", "dot_general", "scan body 1".
inline std::string step_text(const plan_view& p, const plan_step& st) {
  if (st.kind == step_kind::loop) return numbered("loop ", st.function);
  std::string name(p.ops[st.function]->name);
  for (int b = 0; b < st.region_count; ++b) name += numbered(b ? ", " : " body ", st.region + b);
  return name;
}
}  // namespace detail

TOKAMAX_COMPILED_ONCE std::string to_text(const plan_view& p) {
  std::ostringstream s;
  s << loops_to_text(p);
  for (int r = 0; r < p.region_count; ++r) {
    const plan_region& region = p.regions[r];
    s << (r ? detail::numbered("body ", r) : "program") << ": " << region.step_count << " steps, arena "
      << region.arena_bytes << " bytes (all intermediates: " << region.total_bytes << ")\n";
    for (int i = region.first_step; i < region.first_step + region.step_count; ++i) {
      const plan_step& st = p.steps[i];
      const std::string number = std::to_string(i), step = detail::step_text(p, st);
      s << "  " << detail::spaces(3, number) << number << ' ' << step << detail::spaces(16, step + ' ') << ' ';
      for (int k = 0; k < st.in_count + st.out_count; ++k)
        s << (k == st.in_count ? " -> " : k ? ", " : "") << detail::operand_place(p, p.operands[st.operands + k]);
      std::string scope;
      detail::append_scope(scope, p.scope_of(st));
      s << scope << '\n';
    }
  }
  return s.str();
}

}  // namespace tokamax
#endif
