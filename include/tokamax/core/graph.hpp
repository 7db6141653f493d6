// tokamax/core/graph.hpp: the flat table of nodes, each there once, that every pass reads and writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/vec.hpp>          // vec
#include <tokamax/core/buffer.hpp>       // handle: constants captured at run time
#include <tokamax/core/scope_names.hpp>  // scope_names
#include <tokamax/core/trace_life.hpp>   // trace_life
#include <tokamax/core/type.hpp>         // array_type

#include <cstdint>          // int64_t
#include <source_location>  // source_location
#include <string_view>      // string_view

namespace tokamax {

struct op;

/// The type of the defaulted last parameter with which public functions learn the line they are called on.
using source_line = std::source_location;

/// Where a node was asked for: the user's line.
struct location {
  const char* file = "";
  unsigned line = 0;
  constexpr location() = default;
  constexpr location(std::source_location l) : file(l.file_name()), line(l.line()) {}
};

/// One value (or tuple of values) of a program. Operands and attribute words lie in the graph's pools.
struct node {
  const op* kind = nullptr;  ///< null: an input of the graph
  int first_operand = 0, operand_count = 0;
  int first_word = 0, word_count = 0;
  array_type type;  ///< dtype::none for a node with several outputs, which `get` nodes pick from
  location where;
  static constexpr int in_no_list = -2;
  int older = in_no_list;  ///< the next in the list in which the graph looks for equal nodes; -1: none
  int scope = 0;  ///< 1 + place of its name in the graph's scopes; 0: none. Equal nodes are one whatever theirs are
};

/// The first mistake of a trace, kept as a value so that the compiler can print it (see runtime/jit.hpp).
struct diagnostic {
  bool failed = false;
  text what, found, expected;
  location where;
};

/// Which calls of an op are one node: none, those with the same operands, or those with the same two in either order.
enum class sharing : std::uint8_t { none, same_order, either_order };

/// An axis that functions know by its name while they are traced: that of a vmap around them.
struct named_axis {
  std::string_view name;
  std::int64_t size = 0;
  /// Stands for the name among the attribute words of nodes; never 0.
  static constexpr std::int64_t identifier(std::string_view name) {
    std::uint64_t hash = 1469598103934665603u;  // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return static_cast<std::int64_t>(hash >> 2 | 1);
  }
};

/// A program: nodes in topological order, its inputs and outputs, and the bodies of its control flow.
struct graph {
  vec<node> nodes;
  vec<int> operands;         ///< pool of operand ids
  vec<std::int64_t> words;   ///< pool of attribute words
  vec<int> inputs, outputs;  ///< node ids
  vec<graph> bodies;         ///< scan bodies, called functions
  vec<int> effects;          ///< nodes with an effect, or with a body that has one, in the order in which they happen
  vec<handle> captured;      ///< concrete arrays that a run-time trace closed over
  vec<int> captures;         ///< of a body: ids in `parent` that the body closes over, in input order
  graph* parent = nullptr;   ///< of a body while it is traced: the graph around it
  int depth = 0;             ///< number of graphs around this one
  vec<named_axis> axes;      ///< named axes of what is being traced, from the outermost one
  bool dynamic = false;      ///< it or a graph around it has inputs with dynamic extents
  bool floating = false;     ///< holds only constants of a constant expression; joins the first trace it meets
  bool open = false;         ///< of a floating graph: a function is being traced into it (see core/open_graph.hpp)
  graph* met = nullptr;      ///< of an open graph: the trace that the function turned out to be a part of
  vec<graph*> guests;        ///< open graphs that met this one
  diagnostic error;
  trace_life life;  ///< at run time
  scope_names scopes;
  int scope = 0;  ///< of the nodes that are made now

  constexpr int count() const { return nodes.count(); }
  /// The axis of this name, here or in a graph around; null if there is none.
  constexpr const named_axis* find_axis(std::string_view name) const {
    for (const named_axis& a : axes)
      if (a.name == name) return &a;
    return parent ? parent->find_axis(name) : nullptr;
  }
  constexpr const node& operator[](int id) const { return nodes[id]; }
  constexpr int operand(const node& n, int i) const { return operands[n.first_operand + i]; }
  constexpr const std::int64_t* words_of(const node& n) const { return words.data() + n.first_word; }

  /// Before it is traced: the body of an op of the graph `around`, which it closes over, and whose scope it begins in.
  constexpr void become_body_of(graph& around) {
    parent = &around;
    depth = around.depth + 1;
    dynamic = around.dynamic;
    scope = scopes.find_or_add(around.scopes.name(around.scope));
  }

  /// Where the nodes of a constant expression lie that has joined this graph: one id a node, -1 for those that do not.
  constexpr vec<int>& imported_from(const graph* expression) {
    for (import& i : imports_)
      if (i.from == expression) return i.ids;
    imports_.push_back(import{expression, {}});
    return imports_.back().ids;
  }

  /// Appends an input of the program.
  constexpr int input(const array_type& type) {
    node n;
    n.first_word = inputs.count();
    n.type = type;
    dynamic = dynamic || is_dynamic(type.extents);
    nodes.push_back(n);
    inputs.push_back(count() - 1);
    return count() - 1;
  }

  /// The node with this op, operands and attributes: the one that is there, or a new one. Operands keep the order that
  /// the program gives them. The type follows from the rest, except for ops without operands.
  constexpr int find_or_add(const op* kind, sharing shared, const int* in, int n_in, const std::int64_t* attributes,
                            int n_words, const array_type& type, location where) {
    const int id = count();
    int older = node::in_no_list;
    if (shared != sharing::none) {
      if (id >= 2 * newest_.count()) grow_lists();
      int& newest = newest_[list_of(in, n_in, attributes, n_words, type)];
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
  /// Bound of a trace in the compiler, where its lists would grow: about twice the nodes that a program may have, as dead
  /// ones are counted here.
  static constexpr int most_traced = 65534;
  struct import {
    const graph* from = nullptr;
    vec<int> ids;
  };
  vec<import> imports_;
  // Nodes that may be equal lie in one list. No hashes, but sums of small numbers: every number that the compiler meets
  // for the first time costs it an entry in a table of its own. And pointers, for every call costs it more.
  vec<int> newest_;  // of each list: the node that was added last; -1: none

  constexpr int list_of(const int* in, int n_in, const std::int64_t* attributes, int n_words,
                        const array_type& type) const {
    std::int64_t sum = n_words;
    for (int i = 0; i < n_in; ++i) sum += in[i];
    for (int i = 0; i < n_words; ++i) sum += attributes[i] & 63;
    if (n_in == 0) {
      if (n_words > 0) sum += (attributes[0] >> 16 & 0xFFFF) + (attributes[0] >> 48 & 0xFFF);  // where floats differ
      for (int i = 0; i < type.extents.count; ++i) sum += type.extents.values[i] & 0xFFF;
    }
    return static_cast<int>(sum % newest_.count());
  }
  constexpr int find(int id, const op* kind, sharing shared, const int* in, int n_in, const std::int64_t* attributes,
                     int n_words, const array_type& type) const {
    const int* const pool = operands.data();
    const std::int64_t* const numbers = words.data();
    const node* const all = nodes.data();
    for (; id >= 0; id = all[id].older) {
      const node& n = all[id];
      if (n.kind != kind || n.operand_count != n_in || n.word_count != n_words) continue;
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
      error = {true, "program_too_large: nodes", text() << count(), text("at most ") << most_traced << " traced",
               nodes.back().where};
    newest_ = vec<int>(newest_.empty() ? 1021 : newest_.size() < 4096 ? 8169 : 4 * newest_.size() + 91, -1);
    node* const all = nodes.data();
    const int n = count();
    for (int id = 0; id < n; ++id) {
      if (all[id].older == node::in_no_list) continue;
      int& newest = newest_[list_of(operands.data() + all[id].first_operand, all[id].operand_count, words_of(all[id]),
                                    all[id].word_count, all[id].type)];
      all[id].older = newest;
      newest = id;
    }
  }
};

/// Shares a new graph that holds a constant expression until it meets a trace.
constexpr handle make_floating_graph() {
  auto* g = new graph;
  g->floating = true;
  return handle(new buffer_block{.expression = g, .destroy = [](graph* p) { delete p; }});
}

}  // namespace tokamax
