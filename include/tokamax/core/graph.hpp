// tokamax/core/graph.hpp: the flat, hash-consed table of nodes that every pass reads and writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/vec.hpp>     // vec
#include <tokamax/core/buffer.hpp>  // handle: constants captured at run time
#include <tokamax/core/type.hpp>    // array_type

#include <cstdint>          // int64_t
#include <source_location>  // source_location

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
};

/// The first mistake of a trace, kept as a value so that the compiler can print it (see runtime/jit.hpp).
struct diagnostic {
  bool failed = false;
  text what, found, expected;
  location where;
};

/// A program: nodes in topological order, its inputs and outputs, and the bodies of its control flow.
struct graph {
  vec<node> nodes;
  vec<int> operands;         ///< pool of operand ids
  vec<std::int64_t> words;   ///< pool of attribute words
  vec<int> inputs, outputs;  ///< node ids
  vec<graph> bodies;         ///< scan bodies, called functions
  vec<handle> captured;      ///< concrete arrays that a run-time trace closed over
  vec<int> captures;         ///< of a body: ids in `parent` that the body closes over, in input order
  graph* parent = nullptr;   ///< of a body while it is traced: the graph around it
  int depth = 0;             ///< number of graphs around this one
  bool floating = false;     ///< holds only constants of a constant expression; joins the first trace it meets
  diagnostic error;

  constexpr int count() const { return nodes.count(); }
  constexpr const node& operator[](int id) const { return nodes[id]; }
  constexpr int operand(const node& n, int i) const { return operands[n.first_operand + i]; }
  constexpr const std::int64_t* words_of(const node& n) const { return words.data() + n.first_word; }

  /// Appends an input of the program.
  constexpr int input(const array_type& type) {
    node n;
    n.first_word = inputs.count();
    n.type = type;
    nodes.push_back(n);
    inputs.push_back(count() - 1);
    return count() - 1;
  }

  /// The node with this op, operands and attributes: the one that is there, or a new one (hash-consing).
  /// `unique` nodes are never shared. The type follows from the rest, except for ops without operands.
  constexpr int find_or_add(const op* kind, std::size_t salt, bool unique, const int* in, int n_in,
                            const std::int64_t* attributes, int n_words, const array_type& type, location where) {
    std::size_t slot = 0;
    if (!unique) {
      if (2 * nodes.size() >= table_.size()) rehash();
      slot = hash(salt, in, n_in, attributes, n_words) & (table_.size() - 1);
      while (table_[slot] >= 0) {
        if (equals(nodes[table_[slot]], kind, in, n_in, attributes, n_words, type)) return table_[slot];
        slot = (slot + 1) & (table_.size() - 1);
      }
      table_[slot] = count();
      hashes_[slot] = salt;
    }
    node n;
    n.kind = kind;
    n.first_operand = operands.count();
    n.operand_count = n_in;
    n.first_word = words.count();
    n.word_count = n_words;
    n.type = type;
    n.where = where;
    for (int i = 0; i < n_in; ++i) operands.push_back(in[i]);
    for (int i = 0; i < n_words; ++i) words.push_back(attributes[i]);
    nodes.push_back(n);
    return count() - 1;
  }

 private:
  vec<int> table_;           // open addressing, -1: empty
  vec<std::size_t> hashes_;  // the salt of each entry, to rehash without asking the op

  // One expression an operand: evaluator steps are compile time.
  static constexpr std::size_t hash(std::size_t salt, const int* in, int n_in, const std::int64_t* words, int n_words) {
    std::size_t h = salt;
    for (int i = 0; i < n_in; ++i) h = (h ^ static_cast<std::size_t>(in[i])) * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < n_words; ++i) h = (h ^ static_cast<std::size_t>(words[i])) * 0xC2B2AE3D27D4EB4Fu;
    return h ^ (h >> 29);
  }
  constexpr bool equals(const node& n, const op* kind, const int* in, int n_in, const std::int64_t* attributes,
                        int n_words, const array_type& type) const {
    if (n.kind != kind || n.operand_count != n_in || n.word_count != n_words) return false;
    for (int i = 0; i < n_in; ++i)
      if (operands[n.first_operand + i] != in[i]) return false;
    for (int i = 0; i < n_words; ++i)
      if (words[n.first_word + i] != attributes[i]) return false;
    return n_in > 0 || (n.type == type && n.type.weak == type.weak);
  }
  constexpr void rehash() {
    const std::size_t size = table_.size() ? 4 * table_.size() : 1024;
    vec<int> table(size, -1);
    vec<std::size_t> hashes(size);
    for (std::size_t i = 0; i < table_.size(); ++i) {
      if (table_[i] < 0) continue;
      const node& n = nodes[table_[i]];
      std::size_t slot = hash(hashes_[i], operands.data() + n.first_operand, n.operand_count,
                              words.data() + n.first_word, n.word_count) &
                         (size - 1);
      while (table[slot] >= 0) slot = (slot + 1) & (size - 1);
      table[slot] = table_[i];
      hashes[slot] = hashes_[i];
    }
    table_.swap(table);
    hashes_.swap(hashes);
  }
};

/// Shares a new graph that holds a constant expression until it meets a trace.
constexpr handle make_floating_graph() {
  auto* g = new graph;
  g->floating = true;
  return handle(new buffer_block{1, 0, nullptr, nullptr, g, [](graph* p) { delete p; }});
}

}  // namespace tokamax
