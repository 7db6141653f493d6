// tokamax/compiler/freeze.hpp: exact-size constant copies of what a constant expression built.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/program/program.cpp
#pragma once

#include <tokamax/compiler/plan.hpp>           // plan
#include <tokamax/compiler/scope_numbers.hpp>  // scope_numbers
#include <tokamax/core/graph/inline.hpp>       // live_nodes

namespace tokamax {

/// Sizes of a plan's tables.
struct plan_size {
  int instructions = 0, loops = 0, ops = 0, operands = 0, steps = 0, buffers = 0, regions = 0, numbers = 0, scopes = 0,
      scope_chars = 0;
};
constexpr plan_size size_of(const plan& p) {
  return {p.instructions.count(),  p.loops.count(),       p.ops.count(),     p.operands.count(),
          p.steps.count(),         p.buffers.count(),     p.regions.count(), p.numbers.count(),
          p.scopes.ranges.count(), p.scopes.chars.count()};
}

/// The length of a table for n entries; no table is empty.
constexpr std::size_t room(int n) { return static_cast<std::size_t>(n) + 1; }

/// A list of scopes as a constant object.
template <int Count, int Chars>
struct frozen_scopes {
  scope_range ranges[room(Count)];
  char chars[room(Chars)];
  constexpr scope_list_view view() const { return {ranges, chars, Count}; }
};

/// A plan as constant objects. A constant object cannot own memory, so its tables need a size. The program is evaluated
/// once into tables of generous capacity, whose unused end costs the compiler nothing, and these are then copied into
/// tables of the right size. Evaluating it twice, for the sizes and for the contents, would cost three times as much.
///
/// Only the compiler reads `frozen_code`, and makes functions of it. It must not reach the binary, because it points to
/// descriptors, and each descriptor would bring all its rules along.
template <plan_size Size>
struct frozen_code {
  instruction instructions[room(Size.instructions)];
  loop_kernel loops[room(Size.loops)];
  const op* ops[room(Size.ops)];
};
/// The part of the plan that the executor reads.
template <plan_size Size>
struct frozen_plan {
  plan_operand operands[room(Size.operands)];
  plan_step steps[room(Size.steps)];
  plan_buffer buffers[room(Size.buffers)];
  plan_region regions[room(Size.regions)];
  std::int64_t numbers[room(Size.numbers)];
  frozen_scopes<Size.scopes, Size.scope_chars> scopes;
};

inline constexpr plan_size plan_capacity{1 << 13, 1 << 10, 1 << 8,  1 << 16, 1 << 14,
                                         1 << 15, 1 << 8,  1 << 19, 1 << 12, 1 << 17};

namespace detail {
/// Records the first table that does not fit, as the error "program_too_large: table".
struct room {
  diagnostic error;
  location where;
  constexpr bool holds(std::string_view table, int found, int limit) {
    if (found > limit && !error.failed)
      error = {true, message("program_too_large: ") << table, message() << found, message("at most ") << limit, where};
    return found <= limit;
  }
};
}  // namespace detail

/// The first table of a plan that does not fit into `limit`, as an error.
constexpr diagnostic exceeded(const plan_size& n, const plan_size& limit) {
  detail::room r;
  r.holds("lines of loops", n.instructions, limit.instructions);
  r.holds("loops", n.loops, limit.loops);
  r.holds("ops", n.ops, limit.ops);
  r.holds("operands of steps", n.operands, limit.operands);
  r.holds("steps", n.steps, limit.steps);
  r.holds("buffers", n.buffers, limit.buffers);
  r.holds("bodies", n.regions, limit.regions);
  r.holds("numbers", n.numbers, limit.numbers);
  r.holds("scopes", n.scopes, limit.scopes);
  r.holds("characters of names", n.scope_chars, limit.scope_chars);
  return r.error;
}

template <plan_size Size>
constexpr void freeze(frozen_code<Size>& f, const auto& p, const plan_size& n) {
  for (int i = 0; i < n.instructions; ++i) f.instructions[i] = p.instructions[i];
  for (int i = 0; i < n.loops; ++i) f.loops[i] = p.loops[i];
  for (int i = 0; i < n.ops; ++i) f.ops[i] = p.ops[i];
}
template <plan_size Size>
constexpr void freeze(frozen_plan<Size>& f, const auto& p, const plan_size& n) {
  for (int i = 0; i < n.operands; ++i) f.operands[i] = p.operands[i];
  for (int i = 0; i < n.steps; ++i) f.steps[i] = p.steps[i];
  for (int i = 0; i < n.buffers; ++i) f.buffers[i] = p.buffers[i];
  for (int i = 0; i < n.regions; ++i) f.regions[i] = p.regions[i];
  for (int i = 0; i < n.numbers; ++i) f.numbers[i] = p.numbers[i];
  for (int i = 0; i < n.scopes; ++i) f.scopes.ranges[i] = p.scopes.ranges[i];
  for (int i = 0; i < n.scope_chars; ++i) f.scopes.chars[i] = p.scopes.chars[i];
}

/// A view of what the executor needs. Printing a plan needs its code too.
template <plan_size Size>
constexpr plan_view view(const frozen_plan<Size>& p) {
  return {.operands = p.operands,
          .steps = p.steps,
          .buffers = p.buffers,
          .regions = p.regions,
          .numbers = p.numbers,
          .operand_count = Size.operands,
          .step_count = Size.steps,
          .buffer_count = Size.buffers,
          .region_count = Size.regions,
          .scopes = p.scopes.view(),
          .number_count = Size.numbers};
}
template <plan_size Size>
constexpr plan_view view(const frozen_plan<Size>& p, const frozen_code<Size>& code) {
  plan_view v = view(p);
  v.instructions = code.instructions;
  v.loops = code.loops;
  v.ops = code.ops;
  v.loop_count = Size.loops;
  v.op_count = Size.ops;
  v.instruction_count = Size.instructions;
  return v;
}

/// The sizes of a graph's tables, in which its bodies follow one another.
struct graph_size {
  int nodes = 0, operands = 0, words = 0, inputs = 0, outputs = 0, graphs = 0, types = 0, ops = 0, scopes = 0,
      scope_chars = 0;
};

/// The ranges of one graph in the joint tables.
struct graph_extent {
  int nodes = 0, operands = 0, words = 0, inputs = 0, outputs = 0, bodies = 0;
  int node_count = 0, operand_count = 0, word_count = 0, input_count = 0, output_count = 0, body_count = 0;
  int effect_count = 0;  ///< effects follow the outputs
};

/// A node in which numbers stand for the op and the type, because a program has few different ones.
struct frozen_node {
  short kind = -1, type = 0;
  int first_operand = 0, operand_count = 0;
  int first_word = 0, word_count = 0;
  location where;
  short scope = 0;
};

/// Pointers to the tables of a frozen graph. The table of its ops is kept apart; frozen_code says why.
struct graph_view {
  const frozen_node* nodes = nullptr;
  const int* operands = nullptr;
  const std::int64_t* words = nullptr;
  const int *inputs = nullptr, *outputs = nullptr;
  const graph_extent* graphs = nullptr;
  const array_type* types = nullptr;
  scope_list_view scopes{};
};

/// A graph as one constant object, in which a trace is passed to the planner.
template <graph_size Size>
struct frozen_graph {
  frozen_node nodes[room(Size.nodes)];
  int operands[room(Size.operands)];
  std::int64_t words[room(Size.words)];
  int inputs[room(Size.inputs)], outputs[room(Size.outputs)];
  graph_extent graphs[room(Size.graphs)];
  array_type types[room(Size.types)];
  frozen_scopes<Size.scopes, Size.scope_chars> scopes;
};
/// Every op of a program, and every op of their compose rules.
template <graph_size Size>
struct frozen_ops {
  const op* at[room(Size.ops)];
};

inline constexpr graph_size graph_capacity{1 << 15, 1 << 16, 1 << 18, 1 << 13, 1 << 13,
                                           1 << 8,  1 << 12, 1 << 8,  1 << 12, 1 << 17};

template <graph_size Size>
constexpr graph_view view(const frozen_graph<Size>& f) {
  return {f.nodes, f.operands, f.words, f.inputs, f.outputs, f.graphs, f.types, f.scopes.view()};
}

namespace detail {
/// Numbers the different ops or types in the order in which they occur. There is a look-up for each node, so a hash table
/// finds the known ones.
template <class T>
class numbering {
 public:
  static constexpr int limit = std::is_pointer_v<T> ? 256 : 4096;
  vec<T> values;  // at most one more than the limit
  constexpr int operator[](const T& value) {
    std::size_t slot = hash(value) % table_.size();
    for (; table_[slot] >= 0; slot = (slot + 1) % table_.size())
      if (equal(values[table_[slot]], value)) return table_[slot];
    if (values.count() > limit) return limit;
    table_[slot] = values.count();
    values.push_back(value);
    return table_[slot];
  }

 private:
  vec<int> table_ = vec<int>(2 * limit, -1);
  static constexpr std::size_t hash(const op* o) {
    return o->name.size() * 16 + static_cast<unsigned char>(o->name[0]);
  }
  static constexpr bool equal(const op* a, const op* b) { return a == b; }
  static constexpr std::size_t hash(const array_type& t) {
    std::size_t h = static_cast<std::size_t>(t.dtype);
    for (int i = 0; i < t.shape.count; ++i) h = h * 31 + static_cast<std::size_t>(t.shape.values[i]);
    return h * 0x9E3779B1u >> 8;
  }
  static constexpr bool equal(const array_type& a, const array_type& b) { return a == b && a.weak == b.weak; }
};

/// Writes the live parts of a graph and of its bodies into the joint tables, one after the other.
template <graph_size Size>
class freezer {
 public:
  constexpr freezer(frozen_graph<Size>& f, graph_size& n, numbering<const op*>& ops) : f_(f), n_(n), ops_(ops) {}

  /// Returns the error if a table was too small; then the tables are useless.
  constexpr diagnostic run(const graph& g) {
    n_.graphs = 1;
    room_.where = g.nodes.empty() ? location{} : g.nodes.back().where;
    room_.holds("ops", ops_.values.count(), Size.ops);
    add(g, 0);
    if (room_.holds("types", types_.values.count(), Size.types))
      for (const array_type& t : types_.values) f_.types[n_.types++] = t;
    if (room_.holds("scopes", scopes_.ranges.count(), Size.scopes) &&
        room_.holds("characters of names", scopes_.chars.count(), Size.scope_chars)) {
      for (const scope_range& r : scopes_.ranges) f_.scopes.ranges[n_.scopes++] = r;
      for (const char c : scopes_.chars) f_.scopes.chars[n_.scope_chars++] = c;
    }
    return room_.error;
  }

 private:
  /// Is there room for the live part of one more graph? Usually there is room for all of it, and that is tested first.
  constexpr bool has_room(const graph& g, const vec<char>& live) {
    int nodes = g.nodes.count(), operands = g.operands.count(), words = g.words.count();
    if (n_.nodes + nodes > Size.nodes || n_.operands + operands > Size.operands || n_.words + words > Size.words) {
      nodes = operands = words = 0;
      for (int i = 0; i < g.count(); ++i) {
        if (!live[i]) continue;
        ++nodes;
        operands += g.nodes[i].operand_count;
        words += g.nodes[i].word_count;
      }
    }
    return room_.holds("nodes", n_.nodes + nodes, Size.nodes) &&
           room_.holds("operands", n_.operands + operands, Size.operands) &&
           room_.holds("attribute words", n_.words + words, Size.words) &&
           room_.holds("inputs", n_.inputs + g.inputs.count(), Size.inputs) &&
           room_.holds("outputs", n_.outputs + g.outputs.count() + g.effects.count(), Size.outputs);
  }
  /// Writes graph `self`. Ids of nodes become relative to the beginning of the graph, and so do ranges in the pools.
  constexpr void add(const graph& g, int self) {
    vec<char> live = live_nodes(g);
    for (int i : g.inputs) live[i] = 1;
    if (!has_room(g, live)) return;
    graph_extent e;
    e.nodes = n_.nodes;
    e.operands = n_.operands;
    e.words = n_.words;
    e.inputs = n_.inputs;
    e.outputs = n_.outputs;
    e.input_count = g.inputs.count();
    e.output_count = g.outputs.count();
    e.effect_count = g.effects.count();
    vec<int> map(g.nodes.size(), -1);
    vec<int> bodies;
    scope_numbers scopes(g, scopes_);
    int nodes = n_.nodes, operands = n_.operands, words = n_.words;
    for (int i = 0; i < g.count(); ++i) {
      if (!live[i]) continue;
      const node& from = g.nodes[i];
      frozen_node& to = f_.nodes[nodes];
      to.type = static_cast<short>(types_[from.type]);
      to.where = from.where;
      if (from.op) to.scope = static_cast<short>(scopes(from.scope));  // only a trace needs the paths of inputs
      to.first_operand = operands - e.operands;
      to.operand_count = from.operand_count;
      for (int k = from.first_operand, end = k + from.operand_count; k < end; ++k)
        f_.operands[operands++] = map[g.operands[k]];
      to.first_word = from.first_word;
      if (from.op) {
        to.kind = static_cast<short>(ops_[from.op]);
        to.first_word = words - e.words;
        to.word_count = from.word_count;
        for (int k = from.first_word, end = k + from.word_count; k < end; ++k) f_.words[words++] = g.words[k];
        if (from.op->attributes.has_bodies())
          for (int b = 0; b < body_count(g, from); ++b) {
            bodies.push_back(static_cast<int>(body_index_of(g, from, b)));
            f_.words[words - from.word_count + from.op->attributes.body_place(b)] = bodies.count() - 1;
          }
      }
      map[i] = nodes++ - e.nodes;
    }
    e.node_count = nodes - e.nodes;
    e.operand_count = operands - e.operands;
    e.word_count = words - e.words;
    n_.nodes = nodes;
    n_.operands = operands;
    n_.words = words;
    for (int i : g.inputs) f_.inputs[n_.inputs++] = map[i];
    for (int o : g.outputs) f_.outputs[n_.outputs++] = map[o];
    for (int i : g.effects) f_.outputs[n_.outputs++] = map[i];
    e.bodies = n_.graphs;
    e.body_count = bodies.count();
    if (!room_.holds("bodies", n_.graphs + bodies.count(), Size.graphs)) return;
    n_.graphs += bodies.count();
    f_.graphs[self] = e;
    for (int b = 0; b < bodies.count(); ++b) add(g.bodies[bodies[b]], e.bodies + b);
  }

  frozen_graph<Size>& f_;
  graph_size& n_;
  numbering<const op*>& ops_;
  numbering<array_type> types_;
  scope_list scopes_;  // those of all graphs
  room room_;
};
}  // namespace detail

/// Rebuilds graph `self` from the joint tables and the ops that they number.
constexpr graph thaw(const graph_view& f, const op* const* ops, int self = 0) {
  const graph_extent e = f.graphs[self];
  graph g;
  vec<node_scope> scopes(1);
  for (int k = 1; k <= f.scopes.count; ++k)
    scopes.push_back({g.names.read(0, f.scopes[k].name), g.decided.find_or_add(f.scopes[k].implementations)});
  g.nodes.reserve(static_cast<std::size_t>(e.node_count));
  for (int i = e.nodes; i < e.nodes + e.node_count; ++i) {
    const frozen_node& n = f.nodes[i];
    g.nodes.push_back(node{n.kind < 0 ? nullptr : ops[n.kind], n.first_operand, n.operand_count, n.first_word,
                           n.word_count, f.types[n.type], n.where, node::in_no_list, scopes[n.scope]});
  }
  auto part = []<class T>(const T* table, int from, int count) {
    return vec<T>(table + from, static_cast<std::size_t>(count));
  };
  g.operands = part(f.operands, e.operands, e.operand_count);
  g.words = part(f.words, e.words, e.word_count);
  g.inputs = part(f.inputs, e.inputs, e.input_count);
  g.outputs = part(f.outputs, e.outputs, e.output_count);
  g.effects = part(f.outputs, e.outputs + e.output_count, e.effect_count);
  for (int b = 0; b < e.body_count; ++b) g.bodies.push_back(thaw(f, ops, e.bodies + b));
  return g;
}

}  // namespace tokamax
