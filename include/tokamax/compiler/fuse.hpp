// tokamax/compiler/fuse.hpp: which elementwise ops share one loop, and in which order loops and kernels run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/compiler/views.hpp>     // view ops
#include <tokamax/lax/stop_gradient.hpp>  // optimization_barrier_p

namespace tokamax {

constexpr bool is_elementwise(const graph& g, int id) { return g[id].kind && g[id].kind->kind == op_kind::elementwise; }
constexpr bool is_view(const graph& g, int id) { return g[id].kind && g[id].kind->kind == op_kind::view; }
/// Values that loops make out of nothing.
constexpr bool is_free(const graph& g, int id) { return g[id].kind == &constant_p || g[id].kind == &iota_p; }

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
    const int n = g.count();
    vec<char> kind(g.nodes.size(), 0);  // 1: elementwise, 2: free
    for (int i = 0; i < n; ++i) {
      const node& c = nodes[i];
      if (!c.kind) continue;
      const bool elementwise = c.kind->kind == op_kind::elementwise;
      kind[i] = elementwise ? 1 : c.kind == &constant_p || c.kind == &iota_p ? 2 : 0;
      int at = 0;
      for (int e = c.first_operand, end = e + c.operand_count; e < end; ++e) {
        const int p = g.operands[e];
        const bool fuses = elementwise && kind[p] == 1 && nodes[p].type.extents == c.type.extents;
        fusible_[e] = fuses;
        const int after = phase[p] + (fuses || kind[p] == 2 ? 0 : 1);
        if (after > at) at = after;
      }
      phase[i] = at;
      if (at > last_) last_ = at;
    }
  }
  /// A producer whose consumers all fuse with it at one later phase moves there, and its loop disappears.
  constexpr void sink_producers(const graph& g) {
    const int n = g.count();
    vec<int> low(g.nodes.size(), 1 << 30), high(g.nodes.size(), -1);
    vec<char> movable(g.nodes.size(), 1);
    for (int o : g.outputs) movable[o] = 0;
    for (int i = n - 1; i >= 0; --i) {
      const node& c = g.nodes[i];
      int at = phase[i];
      if (high[i] >= 0 && low[i] == high[i] && movable[i] && c.kind->kind == op_kind::elementwise)
        at = phase[i] = high[i];
      for (int e = c.first_operand, end = e + c.operand_count; e < end; ++e) {
        const int p = g.operands[e];
        if (!fusible_[e]) movable[p] = 0;
        if (at < low[p]) low[p] = at;
        if (at > high[p]) high[p] = at;
      }
    }
  }
  constexpr void unite(const graph& g) {
    const int n = g.count();
    for (int i = 0; i < n; ++i) {
      const node& c = g.nodes[i];
      if (!c.kind || c.kind->kind != op_kind::elementwise) continue;
      root[i] = i;
      for (int e = c.first_operand, end = e + c.operand_count; e < end; ++e) {
        if (!fusible_[e]) continue;
        const int p = g.operands[e];
        if (phase[p] != phase[i]) continue;
        const int a = find(p), b = find(i);
        if (a < b)
          root[b] = a;
        else
          root[a] = b;
      }
    }
    for (int i = 0; i < n; ++i)
      if (root[i] >= 0) root[i] = find(i);
  }
  constexpr int find(int x) {
    while (root[x] != x) x = root[x] = root[root[x]];
    return x;
  }
  constexpr void sort() {  // by counting
    const int n = phase.count();
    vec<int> start(static_cast<std::size_t>(last_) + 2, 0);
    for (int i = 0; i < n; ++i) ++start[phase[i] + 1];
    for (int p = 0; p <= last_; ++p) start[p + 1] += start[p];
    for (int i = 0; i < n; ++i) order[start[phase[i]]++] = i;
  }
};

}  // namespace tokamax
