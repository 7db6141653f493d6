// tokamax/core/graph.hpp: the flat table of nodes that every pass reads and writes. Equal nodes are in it once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/vec.hpp>            // vec
#include <tokamax/core/memory/buffer.hpp>  // handle: constants captured at run time
#include <tokamax/core/scope/scope.hpp>    // node_scope, name_table
#include <tokamax/core/trace_life.hpp>     // trace_life
#include <tokamax/core/type.hpp>           // array_type

#include <cstdint>          // int64_t
#include <source_location>  // source_location
#include <string>           // to_string
#include <string_view>      // string_view

namespace tokamax {

struct op;

/// The type of the last parameter of public functions. Its default value is the line of the call.
using source_line = std::source_location;

/// The line of the user's program that asked for a node.
struct location {
  const char* file = "";
  unsigned line = 0;
  constexpr location() = default;
  constexpr location(std::source_location l) : file(l.file_name()), line(l.line()) {}
};
namespace detail {
/// The part of a program, and the line: "blocks[3].attend, model.cpp:17".
std::string place_text(std::string_view part, location where);
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE std::string place_text(std::string_view part, location where) {
  std::string s(part);
  if (!where.line) return s;
  return s.append(s.empty() ? "" : ", ").append(where.file).append(":").append(std::to_string(where.line));
}
#endif
}  // namespace detail

/// One value (or tuple of values) of a program: an op, its operands and its attributes. Operands and attribute words are
/// ranges in the graph's pools, so that a node has a fixed size.
struct node {
  const tokamax::op* op = nullptr;  ///< null: an input of the graph
  int first_operand = 0, operand_count = 0;
  int first_word = 0, word_count = 0;
  array_type type;  ///< dtype::none for a node with several outputs, which `get` nodes pick from
  location where;
  static constexpr int in_no_list = -2;
  int older = in_no_list;  ///< the next node of the list in which the graph looks for equal nodes; -1: the end
  node_scope scope;        ///< the part of the program that it belongs to
};

/// The first mistake of a trace, kept as a value so that the compiler can print it (see runtime/jit.hpp).
struct diagnostic {
  bool failed = false;
  message what, found, expected;
  location where;
  message part{};  ///< the name of the part of the program, if it has one
};

/// Which calls of an op become one node: no two, those with the same operands, or those with the same two operands in
/// either order.
enum class sharing : std::uint8_t { none, same_order, either_order };

/// An axis that a function can use by its name while it is traced: the axis of a vmap around it.
struct named_axis {
  std::string_view name;
  std::int64_t size = 0;
};

struct graph;

/// Finds the node of captured data: a hash table of node ids, which run-time traces use. A function may capture a whole
/// model, and each use of a parameter asks.
class captured_table {
 public:
  /// The node that has this data as an array of this type; -1 if there is none.
  int find(const graph& g, const buffer_block* data, const array_type& type) const;
  void note(const graph& g, int id);

 private:
  vec<int> slots_;  // -1: empty
  int count_ = 0;
  std::size_t slot_of(const buffer_block* data) const {
    return (reinterpret_cast<std::uintptr_t>(data) >> 4) * 0x9e3779b97f4a7c15u % slots_.size();
  }
  void put(const graph& g, int id);
};

/// A program: nodes in topological order, its inputs and outputs, and the bodies of its control flow.
struct graph {
  vec<node> nodes;
  vec<int> operands;              ///< pool of operand ids
  vec<std::int64_t> words;        ///< pool of attribute words
  vec<int> inputs, outputs;       ///< node ids
  vec<graph> bodies;              ///< the bodies of loops and branches, and called functions
  vec<int> effects;               ///< nodes with an effect, or with a body that has one, in the order of the program
  vec<handle> captured;           ///< concrete arrays that a run-time trace closed over
  captured_table captured_nodes;  ///< their nodes
  vec<int> captures;              ///< of a body: ids in `parent` that the body closes over, in the order of its inputs
  graph* parent = nullptr;        ///< of a body while it is traced: the graph around it
  int depth = 0;                  ///< number of graphs around this one
  vec<named_axis> axes;           ///< named axes of what is being traced, from the outermost one
  bool dynamic = false;           ///< it or a graph around it has inputs with dynamic extents
  bool floating = false;          ///< holds only a constant expression, which joins the first trace that it meets
  bool open = false;     ///< of a floating graph: a function is being traced into it (see core/graph/open_graph.hpp)
  graph* met = nullptr;  ///< of an open graph: the trace that the function turned out to be a part of
  vec<graph*> guests;    ///< open graphs that met this one
  diagnostic error;
  trace_life life;         ///< at run time: lets arrays know whether this graph still exists
  name_table names;        ///< of the scopes of nodes
  decision_table decided;  ///< for the scopes of nodes
  node_scope scope;        ///< that of nodes that are made now
  int around_layers = -1;  ///< the name in which the outermost layer is called that is being traced; -1: there is none

  constexpr int count() const { return nodes.count(); }
  /// The axis of this name, in this graph or in one around it; null if there is none.
  constexpr const named_axis* find_axis(std::string_view name) const {
    for (const named_axis& a : axes)
      if (a.name == name) return &a;
    return parent ? parent->find_axis(name) : nullptr;
  }
  constexpr const node& operator[](int id) const { return nodes[id]; }
  constexpr int operand(const node& n, int i) const { return operands[n.first_operand + i]; }
  constexpr const std::int64_t* words_of(const node& n) const { return words.data() + n.first_word; }

  /// Makes this graph, before it is traced, the body of an op of the graph `around`. It can then use values of `around`,
  /// and its names begin with the current scope there.
  constexpr void become_body_of(graph& around) {
    parent = &around;
    depth = around.depth + 1;
    dynamic = around.dynamic;
    scope = imported(around, around.scope);
    if (around.around_layers >= 0) around_layers = names.import(0, around.names, around.around_layers);
  }
  /// The scope that is `s` in another graph, within the current scope of this one.
  constexpr node_scope imported(const graph& from, node_scope s) {
    if (s.name == 0 && s.decisions == 0) return scope;
    return {s.name ? names.import(scope.name, from.names, s.name) : scope.name,
            s.decisions
                ? decided.join(from.decided.implementations(s.decisions), decided.implementations(scope.decisions))
                : scope.decisions};
  }
  /// A number for each scope of this graph, below `scope_count()`, for tables of what passes know of scopes.
  constexpr int number_of(node_scope s) const { return s.decisions * (names.count() + 1) + s.name; }
  constexpr int scope_count() const { return (decided.count() + 1) * (names.count() + 1); }
  /// The name of the part of the program that a node belongs to, such as `blocks[3].attend`.
  constexpr name_text name_of(const node& n) const { return names.text(n.scope.name); }

  /// The ids that the nodes of a constant expression have in this graph, which it has joined; -1 for nodes without one.
  constexpr vec<int>& imported_from(const graph* expression) {
    for (import& i : imports_)
      if (i.from == expression) return i.ids;
    imports_.push_back(import{expression, {}});
    return imports_.back().ids;
  }

  /// Appends an input of the program. `path` is the name of the leaf that it is.
  constexpr int input(const array_type& type, int path = 0) {
    node n;
    n.first_word = inputs.count();
    n.type = type;
    n.scope.name = path;
    dynamic = dynamic || is_dynamic(type.shape);
    nodes.push_back(n);
    inputs.push_back(count() - 1);
    return count() - 1;
  }

  /// The node with this op, operands and attributes: an equal one if there is one, else a new one. Operands keep the order
  /// of the program. The type is compared for ops without operands only, because it follows from the rest otherwise.
  constexpr int find_or_add(const op* kind, sharing shared, const int* in, int n_in, const std::int64_t* attributes,
                            int n_words, const array_type& type, location where) {
    const int id = count();
    int older = node::in_no_list;
    if (shared != sharing::none) {
      // At run time lists are short, because each node in one is a cache miss. The constant evaluator prefers few lists.
      const int lists = newest_.count();
      if (__builtin_is_constant_evaluated() ? id >= 2 * lists : 2 * id >= lists) grow_lists();
      int& newest = newest_[list_of(kind, in, n_in, attributes, n_words, type)];
      if (const int same = find(newest, kind, shared, in, n_in, attributes, n_words, type); same >= 0) return same;
      older = newest;
      newest = id;
    }
    nodes.push_back(node{kind, operands.count(), n_in, words.count(), n_words, type, where, older, scope});
    for (int i = 0; i < n_in; ++i) operands.push_back(in[i]);
    for (int i = 0; i < n_words; ++i) words.push_back(attributes[i]);
    return id;
  }

 private:
  /// The most nodes of a trace in the compiler. Dead nodes count here, so this is twice what a program may have.
  static constexpr int most_traced = 65534;
  struct import {
    const graph* from = nullptr;
    vec<int> ids;
  };
  vec<import> imports_;
  // Nodes that may be equal are in one linked list, as in a hash table. The list is chosen by a sum of small numbers
  // instead of a hash, because the constant evaluator of g++ keeps an entry for each number that it meets for the first
  // time. `find` uses raw pointers, because each call of an accessor is a step of the evaluator.
  vec<int> newest_;  // for each list the node that was added last; -1: the list is empty

  constexpr int list_of(const op* kind, const int* in, int n_in, const std::int64_t* attributes, int n_words,
                        const array_type& type) const {
    if (!__builtin_is_constant_evaluated()) return hashed_list_of(kind, in, n_in, attributes, n_words, type);
    std::int64_t sum = n_words;
    for (int i = 0; i < n_in; ++i) sum += in[i];
    for (int i = 0; i < n_words; ++i) sum += attributes[i] & 63;
    if (n_in == 0) {
      if (n_words > 0) sum += (attributes[0] >> 16 & 0xFFFF) + (attributes[0] >> 48 & 0xFFF);  // where floats differ
      for (int i = 0; i < type.shape.count; ++i) sum += type.shape.values[i] & 0xFFF;
    }
    return static_cast<int>(sum % newest_.count());
  }
  /// The same at run time, where programs are larger: all numbers count, operands in any order.
  int hashed_list_of(const op* kind, const int* in, int n_in, const std::int64_t* attributes, int n_words,
                     const array_type& type) const {
    const auto mixed = [](std::uint64_t v) {
      v *= 0x9e3779b97f4a7c15u;
      return v ^ v >> 29;
    };
    std::uint64_t hash = reinterpret_cast<std::uintptr_t>(kind) >> 4;
    for (int i = 0; i < n_in; ++i) hash += mixed(static_cast<std::uint64_t>(in[i]) + 1);
    for (int i = 0; i < n_words; ++i) hash = mixed(hash ^ static_cast<std::uint64_t>(attributes[i]));
    if (n_in == 0)
      for (int i = 0; i < type.shape.count; ++i) hash = mixed(hash ^ static_cast<std::uint64_t>(type.shape.values[i]));
    return static_cast<int>(mixed(hash) % newest_.size());
  }
  constexpr int find(int id, const op* kind, sharing shared, const int* in, int n_in, const std::int64_t* attributes,
                     int n_words, const array_type& type) const {
    const int* const pool = operands.data();
    const std::int64_t* const numbers = words.data();
    const node* const all = nodes.data();
    for (; id >= 0; id = all[id].older) {
      const node& n = all[id];
      if (n.op != kind || n.operand_count != n_in || n.word_count != n_words) continue;
      bool equal = n_in > 0 || (n.type == type && n.type.weak == type.weak);
      for (int i = 0; i < n_in && equal; ++i) equal = pool[n.first_operand + i] == in[i];
      if (!equal && shared == sharing::either_order && n_in == 2)
        equal = pool[n.first_operand] == in[1] && pool[n.first_operand + 1] == in[0];
      for (int i = 0; i < n_words && equal; ++i) equal = numbers[n.first_word + i] == attributes[i];
      if (equal) return id;
    }
    return -1;
  }
  constexpr void grow_lists() {
    if (std::is_constant_evaluated() && count() >= most_traced && !error.failed)
      error = {true, "program_too_large: nodes", message() << count(), message("at most ") << most_traced << " traced",
               nodes.back().where};
    newest_ = vec<int>(newest_.empty() ? 1021 : newest_.size() < 4096 ? 8169 : 4 * newest_.size() + 91, -1);
    node* const all = nodes.data();
    const int n = count();
    for (int id = 0; id < n; ++id) {
      if (all[id].older == node::in_no_list) continue;
      const node& o = all[id];
      int& newest =
          newest_[list_of(o.op, operands.data() + o.first_operand, o.operand_count, words_of(o), o.word_count, o.type)];
      all[id].older = newest;
      newest = id;
    }
  }
};

inline int captured_table::find(const graph& g, const buffer_block* data, const array_type& type) const {
  if (slots_.empty()) return -1;
  for (std::size_t at = slot_of(data); slots_[at] >= 0; at = (at + 1) % slots_.size()) {
    const node& n = g[slots_[at]];
    if (g.captured[g.words[n.first_word]].get() == data && n.type == type) return slots_[at];
  }
  return -1;
}
inline void captured_table::put(const graph& g, int id) {
  std::size_t at = slot_of(g.captured[g.words[g[id].first_word]].get());
  while (slots_[at] >= 0) at = (at + 1) % slots_.size();
  slots_[at] = id;
}
inline void captured_table::note(const graph& g, int id) {
  if (2 * ++count_ > slots_.count()) {
    const vec<int> before = std::move(slots_);
    slots_ = vec<int>(static_cast<std::size_t>(4 * count_ + 12), -1);
    for (const int other : before)
      if (other >= 0) put(g, other);
  }
  put(g, id);
}

/// A new graph for a constant expression. It lives until the last array that refers to it is gone.
constexpr handle make_floating_graph() {
  auto* g = new graph;
  g->floating = true;
  return handle(new buffer_block{.expression = g, .destroy = [](graph* p) { delete p; }});
}

}  // namespace tokamax
