// tokamax/compiler/fuse.hpp: which elementwise ops share one loop, and in which order loops and kernels run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/compiler/views.hpp>  // view ops
#include <tokamax/core/bind.hpp>       // constant_p

namespace tokamax {

constexpr bool is_elementwise(const node& n) { return n.kind && n.kind->memory.kind == op_kind::elementwise; }
constexpr bool is_view(const node& n) { return n.kind && n.kind->memory.kind == op_kind::view; }
/// Values that loops make out of nothing.
constexpr bool is_counting(const node& n) { return n.kind && n.kind->memory.kind == op_kind::counting; }
constexpr bool is_free(const node& n) { return n.kind == &constant_p || is_counting(n); }

/// Groups of elementwise nodes, acyclic by construction: every edge that cannot be fused leads to a strictly later
/// phase, and a group holds nodes of one phase only.
struct fusion {
  vec<int> phase;  ///< of each node
  vec<int> root;   ///< of each elementwise node: the first node of its group; -1 for other nodes
  vec<int> order;  ///< all nodes, by phase and then as traced

  constexpr explicit fusion(const graph& g)
      : phase(g.nodes.size(), 0), root(g.nodes.size(), -1), order(g.nodes.size(), 0), fusible_(g.operands.size(), 0) {
    find_phases(g);
    sink_producers(g);
    unite(g);
    sort();
  }

 private:
  // The passes use pointers: what a table's accessor costs the compiler counts here.
  vec<char> fusible_;  // of each edge: could its ends share a loop?
  int last_ = 0;

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
      if (!c.kind) continue;
      const bool elementwise = c.kind->memory.kind == op_kind::elementwise;
      kind[i] = elementwise ? 1 : is_free(c) ? 2 : 0;
      int latest = 0;
      for (int e = c.first_operand, end = e + c.operand_count; e < end; ++e) {
        const int p = operands[e];
        const bool fuses = elementwise && kind[p] == 1 && nodes[p].type.extents == c.type.extents;
        fusible[e] = fuses;
        const int after = at[p] + (fuses || kind[p] == 2 ? 0 : 1);
        if (after > latest) latest = after;
      }
      if (next_effect < effects && g.effects[next_effect] == i) {  // none comes before the one that was traced before
        if (effect_phase > latest) latest = effect_phase;
        effect_phase = latest;
        ++next_effect;
      }
      at[i] = latest;
      if (latest > last_) last_ = latest;
    }
  }
  /// A producer whose consumers all fuse with it at one later phase moves there, and its loop disappears.
  constexpr void sink_producers(const graph& g) {
    const node* const nodes = g.nodes.data();
    const int* const operands = g.operands.data();
    const char* const fusible = fusible_.data();
    int* const at = phase.data();
    const int n = g.count();
    vec<int> bounds(2 * g.nodes.size(), -1);  // phases of the consumers
    int *const low = bounds.data(), *const high = low + n;
    vec<char> may_move(g.nodes.size(), 1);
    char* const movable = may_move.data();
    for (int o : g.outputs) movable[o] = 0;
    for (int i = n - 1; i >= 0; --i) {
      const node& c = nodes[i];
      if (high[i] >= 0 && low[i] == high[i] && movable[i] && c.kind->memory.kind == op_kind::elementwise)
        at[i] = high[i];
      const int here = at[i];
      for (int e = c.first_operand, end = e + c.operand_count; e < end; ++e) {
        const int p = operands[e];
        if (!fusible[e]) movable[p] = 0;
        if (low[p] < 0 || here < low[p]) low[p] = here;
        if (here > high[p]) high[p] = here;
      }
    }
  }
  constexpr void unite(const graph& g) {
    const node* const nodes = g.nodes.data();
    const int* const operands = g.operands.data();
    const char* const fusible = fusible_.data();
    const int* const at = phase.data();
    int* const first = root.data();
    const int n = g.count();
    for (int i = 0; i < n; ++i) {
      const node& c = nodes[i];
      if (!c.kind || c.kind->memory.kind != op_kind::elementwise) continue;
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
    for (int i = 0; i < n; ++i)
      if (first[i] >= 0) first[i] = find(first, i);
  }
  static constexpr int find(int* first, int x) {
    while (first[x] != x) x = first[x] = first[first[x]];
    return x;
  }
  constexpr void sort() {  // by counting
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
