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
    if (!unique) {
      if (2 * nodes.size() >= table_.size()) grow_table();
      const std::uint64_t h = hash(salt, in, n_in, attributes, n_words, type), mask = table_.size() - 1;
      std::uint64_t slot = h & mask;
      for (; table_[slot] != 0; slot = (slot + 1) & mask) {
        if (table_[slot] >> 32 != h) continue;
        const auto id = static_cast<int>(table_[slot] & 0xFFFFFFFF) - 1;
        if (equals(nodes[id], kind, in, n_in, attributes, n_words, type)) return id;
      }
      table_[slot] = h << 32 | (nodes.size() + 1);
    }
    nodes.push_back(node{kind, operands.count(), n_in, words.count(), n_words, type, where});
    for (int i = 0; i < n_in; ++i) operands.push_back(in[i]);
    for (int i = 0; i < n_words; ++i) words.push_back(attributes[i]);
    return count() - 1;
  }

 private:
  vec<std::uint64_t> table_;  // open addressing: a node's hash and, in the low half, its id + 1; 0: empty

  // One expression an operand: evaluator steps are compile time. The type tells apart only what has no operands.
  static constexpr std::uint64_t hash(std::size_t salt, const int* in, int n_in, const std::int64_t* words, int n_words,
                                      const array_type& type) {
    std::uint64_t h = salt;
    for (int i = 0; i < n_in; ++i) h = (h * 31 + static_cast<std::uint64_t>(in[i])) * 0x9E3779B1u;
    for (int i = 0; i < n_words; ++i) {
      const auto w = static_cast<std::uint64_t>(words[i]);
      h = (h ^ w ^ w >> 32) * 0xC2B2AE3D27D4EB4Fu;  // what tells doubles apart is in their upper half
    }
    if (n_in == 0)
      for (int i = 0; i < type.extents.count; ++i)
        h = (h ^ static_cast<std::uint64_t>(type.extents.values[i])) * 0x9E3779B1u;
    return (h >> 32 ^ h >> 12) & 0xFFFFFFFF;
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
  constexpr void grow_table() {
    const std::uint64_t size = table_.size() ? 4 * table_.size() : 1024, mask = size - 1;
    vec<std::uint64_t> grown(size, 0);
    for (const std::uint64_t entry : table_) {
      if (entry == 0) continue;
      std::uint64_t slot = entry >> 32 & mask;
      while (grown[slot] != 0) slot = (slot + 1) & mask;
      grown[slot] = entry;
    }
    table_.swap(grown);
  }
};

/// Shares a new graph that holds a constant expression until it meets a trace.
constexpr handle make_floating_graph() {
  auto* g = new graph;
  g->floating = true;
  return handle(new buffer_block{1, 0, nullptr, nullptr, g, [](graph* p) { delete p; }});
}

}  // namespace tokamax
