// tokamax/compiler/passes/fuse.hpp: which elementwise ops share one loop, and in which order loops and kernels run.
// SPDX-License-Identifier: Apache-2.0
//
// Every node gets a phase, a number that says when it may run. A node runs in the phase of its operands if it can
// share their loop, and in a later one if it needs their whole result. Neighbours of one phase then form one group, and
// groups of one phase that read the same array are one group too.
//
//   a = x + y   phase 1, group 1
//   b = a * a   phase 1, group 1     elementwise, and of the same extents as a
//   e = x - z   phase 1, group 1     reads x as well
//   c = sum(b)  phase 2              a kernel, which needs all of b
//   d = b / c   phase 3, group 2     needs all of c
#pragma once

#include <tokamax/compiler/passes/views.hpp>  // view ops
#include <tokamax/core/bind.hpp>              // constant_p

namespace tokamax {

constexpr bool is_elementwise(const node& n) { return n.op && n.op->memory.kind == op_kind::elementwise; }
constexpr bool is_view(const node& n) { return n.op && n.op->memory.kind == op_kind::view; }
/// Does the node read no operand? A loop computes such values where it needs them.
constexpr bool is_counting(const node& n) { return n.op && n.op->memory.kind == op_kind::counting; }
/// Constants and counted values are there from the start: no node has to wait for them.
constexpr bool is_free(const node& n) { return n.op == &constant_p || is_counting(n); }

/// The groups of elementwise nodes that share a loop. Groups cannot wait for each other in a circle: an edge that is
/// not fused leads to a strictly later phase, and a group holds nodes of one phase only.
struct fusion {
  vec<int> phase;  ///< of each node
  vec<int> root;   ///< of each elementwise node: the first node of its group; -1 for other nodes
  vec<int> order;  ///< all nodes, by phase and then as traced

  constexpr explicit fusion(const graph& g)
      : phase(g.nodes.size(), 0), root(g.nodes.size(), -1), order(g.nodes.size(), 0), fusible_(g.operands.size(), 0) {
    find_phases(g);
    sink_producers(g);
    if (delay_outputs(g)) sink_producers(g);
    unite(g);
    join_readers(g);
    sort();
  }

 private:
  // The passes work on raw pointers. They run in constant expressions for every jitted function, and there each call of
  // an accessor takes compile time.
  vec<char> fusible_;  // of each edge: could its ends share a loop?
  int last_ = 0;       // the last phase

  // Nodes up to this phase read arguments and constants only, which are there until the program ends. So they may wait.
  static constexpr int first_phase = 1;
  static constexpr int most_joined = 64;  // nodes of a group that is joined of several

  /// Gives every node the earliest phase in which it may run.
  constexpr void find_phases(const graph& g) {
    const node* const nodes = g.nodes.data();
    const int* const operands = g.operands.data();
    char* const fusible = fusible_.data();
    int* const at = phase.data();
    const int n = g.count();
    const int effects = g.effects.count();
    int next_effect = 0, effect_phase = 0;
    vec<char> kinds(g.nodes.size(), 0);  // 1: elementwise, 2: free
    char* const kind = kinds.data();
    for (int i = 0; i < n; ++i) {
      const node& c = nodes[i];
      if (!c.op) continue;
      const bool elementwise = c.op->memory.kind == op_kind::elementwise;
      kind[i] = elementwise ? 1 : is_free(c) ? 2 : 0;
      int latest = 0;
      for (int e = c.first_operand, end = e + c.operand_count; e < end; ++e) {
        const int p = operands[e];
        const bool fuses = elementwise && kind[p] == 1 && nodes[p].type.shape == c.type.shape;
        fusible[e] = fuses;
        const int after = at[p] + (fuses || kind[p] == 2 ? 0 : 1);
        if (after > latest) latest = after;
      }
      if (next_effect < effects && g.effects[next_effect] == i) {  // effects keep the order in which they were traced
        if (effect_phase > latest) latest = effect_phase;
        effect_phase = latest;
        ++next_effect;
      }
      at[i] = latest;
      if (latest > last_) last_ = latest;
    }
  }
  /// Moves a producer to the phase of its consumers if they all fuse with it in one later phase. It then has no loop of
  /// its own, and its result is never written to memory, or not read again if it is an output.
  constexpr void sink_producers(const graph& g) {
    const node* const nodes = g.nodes.data();
    const int* const operands = g.operands.data();
    const char* const fusible = fusible_.data();
    int* const at = phase.data();
    const int n = g.count();
    vec<int> bounds(2 * g.nodes.size(), -1);  // the first and the last phase of each node's consumers
    int *const low = bounds.data(), *const high = low + n;
    vec<char> may_move(g.nodes.size(), 1);
    char* const movable = may_move.data();
    for (int o : g.outputs) movable[o] = at[o] <= first_phase;
    for (int i = n - 1; i >= 0; --i) {
      const node& c = nodes[i];
      if (high[i] >= 0 && low[i] == high[i] && movable[i] && c.op->memory.kind == op_kind::elementwise) at[i] = high[i];
      const int here = at[i];
      for (int e = c.first_operand, end = e + c.operand_count; e < end; ++e) {
        const int p = operands[e];
        if (!fusible[e]) movable[p] = 0;
        if (low[p] < 0 || here < low[p]) low[p] = here;
        if (here > high[p]) high[p] = here;
      }
    }
  }
  /// Moves an output that is made of arguments, and that nothing reads, to the phase in which one of them is read again. It may then
  /// share the loop that does so, if that one makes an output too. Returns whether there is one.
  constexpr bool delay_outputs(const graph& g) {
    const node* const nodes = g.nodes.data();
    int* const at = phase.data();
    vec<int> waiting, pending;
    vec<int> last;  // of each node: the last phase in which a loop of its shape reads it; -1 if nothing does
    bool any = false;
    for (int o : g.outputs)
      if (at[o] <= first_phase && is_elementwise(nodes[o]) && nodes[o].type.shape.rank() > 0) waiting.push_back(o);
    if (waiting.empty()) return false;
    last.resize(g.nodes.size(), -1);
    for (int i = 0; i < g.count(); ++i)
      for (int k = 0; k < nodes[i].operand_count; ++k) {
        const int p = g.operand(nodes[i], k);
        const int read = is_elementwise(nodes[i]) && nodes[p].type.shape == nodes[i].type.shape ? at[i] : 0;
        if (read > last[p]) last[p] = read;
      }
    vec<int> seen(g.nodes.size(), -1);
    for (int o : waiting) {
      if (last[o] >= 0) continue;
      int next = last_ + 1;
      pending.push_back(o);
      while (!pending.empty()) {
        const int i = pending.back();
        pending.pop_back();
        if (seen[i] == o) continue;
        seen[i] = o;
        if (nodes[i].op)
          for (int k = 0; k < nodes[i].operand_count; ++k) pending.push_back(g.operand(nodes[i], k));
        else if (last[i] > first_phase && last[i] < next && nodes[i].type.shape == nodes[o].type.shape)
          next = last[i];
      }
      if (next > last_) continue;
      at[o] = next;
      any = true;
    }
    return any;
  }
  /// Joins every node with the producers it fuses with, as sets with a union-find structure.
  constexpr void unite(const graph& g) {
    const node* const nodes = g.nodes.data();
    const int* const operands = g.operands.data();
    const char* const fusible = fusible_.data();
    const int* const at = phase.data();
    int* const first = root.data();
    const int n = g.count();
    for (int i = 0; i < n; ++i) {
      const node& c = nodes[i];
      if (!c.op || c.op->memory.kind != op_kind::elementwise) continue;
      first[i] = i;
      for (int e = c.first_operand, end = e + c.operand_count; e < end; ++e) {
        const int p = operands[e];
        if (!fusible[e] || at[p] != at[i]) continue;
        const int a = find(first, p), b = find(first, i);
        if (a < b)
          first[b] = a;
        else
          first[a] = b;
      }
    }
  }
  /// Joins groups of one shape that make outputs of the same array, which is then read once: an optimiser makes a moment and a
  /// parameter of one gradient. Groups that make no output keep their loops, since a reduction may run them.
  constexpr void join_readers(const graph& g) {
    const node* const nodes = g.nodes.data();
    const int* const operands = g.operands.data();
    const int* const at = phase.data();
    int* const first = root.data();
    const int n = g.count();
    vec<int> tables(3 * g.nodes.size(), 0);
    int* const members = tables.data();  // of each group, by its first node
    int* const stores = members + n;     // does a group make an output?
    int* const reader = stores + n;      // of each array: one more than the node that reads it
    for (int i = 0; i < n; ++i)
      if (first[i] >= 0) ++members[first[i] = find(first, i)];
    for (int o : g.outputs)
      if (first[o] >= 0) stores[first[o]] = 1;
    for (int i = 0; i < n; ++i) {
      if (first[i] < 0 || !stores[first[i]]) continue;
      for (int e = nodes[i].first_operand, end = e + nodes[i].operand_count; e < end; ++e) {
        const int p = operands[e];
        if (first[p] == first[i] || nodes[p].op == &constant_p) continue;
        const int q = reader[p] - 1;
        reader[p] = i + 1;
        if (q < 0 || first[q] == first[i] || at[q] != at[i]) continue;
        const int a = find(first, q), b = find(first, i), to = a < b ? a : b, from = a + b - to;
        if (a == b || members[a] + members[b] > most_joined) continue;
        const shape& s = nodes[p].type.shape;
        if (!(nodes[i].type.shape == s && nodes[q].type.shape == s)) continue;
        first[from] = to;
        members[to] += members[from];
      }
    }
    for (int i = 0; i < n; ++i)
      if (first[i] >= 0 && stores[first[i]]) first[i] = find(first, i);
  }
  /// The first node of x's set. It shortens the chain on its way, so that later calls are quick.
  static constexpr int find(int* first, int x) {
    while (first[x] != x) x = first[x] = first[first[x]];
    return x;
  }
  /// Orders the nodes by phase with a counting sort, which keeps the traced order within a phase.
  constexpr void sort() {
    const int* const at = phase.data();
    int* const sorted = order.data();
    const int n = phase.count();
    vec<int> places(static_cast<std::size_t>(last_) + 2, 0);
    int* const start = places.data();
    for (int i = 0; i < n; ++i) ++start[at[i] + 1];
    for (int p = 0; p <= last_; ++p) start[p + 1] += start[p];
    for (int i = 0; i < n; ++i) sorted[start[at[i]]++] = i;
  }
};

}  // namespace tokamax
