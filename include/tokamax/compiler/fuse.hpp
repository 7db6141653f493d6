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
      : phase(g.nodes.size(), 0), root(g.nodes.size(), -1), order(g.nodes.size(), 0) {
    const int n = g.count();
    auto fusible = [&](int p, int c) {
      return is_elementwise(g, p) && is_elementwise(g, c) && g[p].type.extents == g[c].type.extents;
    };
    int last = 0;
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < g[i].operand_count; ++k) {
        const int p = g.operand(g[i], k), at = phase[p] + (fusible(p, i) || is_free(g, p) ? 0 : 1);
        if (at > phase[i]) phase[i] = at;
      }
      if (phase[i] > last) last = phase[i];
    }
    sink_producers(g, fusible);
    for (int i = 0; i < n; ++i) {
      if (!is_elementwise(g, i)) continue;
      root[i] = i;
      for (int k = 0; k < g[i].operand_count; ++k) {
        const int p = g.operand(g[i], k);
        if (!fusible(p, i) || phase[p] != phase[i]) continue;
        const int a = find(p), b = find(i);
        if (a < b)
          root[b] = a;
        else
          root[a] = b;
      }
    }
    for (int i = 0; i < n; ++i)
      if (root[i] >= 0) root[i] = find(i);
    vec<int> start(static_cast<std::size_t>(last) + 2, 0);  // counting sort by phase
    for (int i = 0; i < n; ++i) ++start[phase[i] + 1];
    for (int p = 0; p <= last; ++p) start[p + 1] += start[p];
    for (int i = 0; i < n; ++i) order[start[phase[i]]++] = i;
  }

 private:
  constexpr int find(int x) {
    while (root[x] != x) x = root[x] = root[root[x]];
    return x;
  }
  /// A producer whose consumers all fuse with it at one later phase moves there, and its loop disappears.
  constexpr void sink_producers(const graph& g, const auto& fusible) {
    const int n = g.count();
    vec<int> low(g.nodes.size(), 1 << 30), high(g.nodes.size(), -1);
    vec<char> movable(g.nodes.size(), 1);
    for (int o : g.outputs) movable[o] = 0;
    for (int i = n - 1; i >= 0; --i) {
      if (is_elementwise(g, i) && movable[i] && high[i] >= 0 && low[i] == high[i]) phase[i] = high[i];
      for (int k = 0; k < g[i].operand_count; ++k) {
        const int p = g.operand(g[i], k);
        if (!fusible(p, i)) movable[p] = 0;
        if (phase[i] < low[p]) low[p] = phase[i];
        if (phase[i] > high[p]) high[p] = phase[i];
      }
    }
  }
};

}  // namespace tokamax
