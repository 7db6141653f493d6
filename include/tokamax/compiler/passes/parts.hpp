// tokamax/compiler/passes/parts.hpp: kernels and loops write their results where they belong: into a larger array, or in another order.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/passes/parts.cpp
#pragma once

#include <tokamax/compiler/passes/fuse.hpp>   // is_elementwise
#include <tokamax/compiler/passes/views.hpp>  // is_view
#include <tokamax/core/graph/inline.hpp>      // live_nodes
#include <tokamax/lax/shapes/reshape.hpp>     // reshape_strides

namespace tokamax::detail {

/// Finds the concatenations that need no step: nothing else reads their operands, and each is a result, perhaps reshaped, of a
/// kernel that writes results with any strides (`takes(op).strided_results`), or of a loop whose elements lie side by side in
/// the whole. The gradients of queries, keys and values are such:
///
///   dq, dk, dv = attention_vjp(...)                 bf16[32, 1024, 12, 64] each
///   d = concatenate(dq, dk, dv, axis = 2)           bf16[32, 1024, 2304], after a reshape of each to [32, 1024, 768]
///
/// A result whose axes are only exchanged before the program returns it is written in that order too, by such a kernel.
class result_parts {
 public:
  /// Where a result lies: in the memory of the node `whole`.
  struct part {
    int whole = -1;
    std::int64_t offset = 0;
    shape strides;
  };

  constexpr result_parts(const graph& g, const auto& takes) : place_(g.nodes.size(), -1), whole_(g.nodes.size(), 0) {
    bool any = false;
    for (const node& n : g.nodes) any = any || joins(n);
    for (int o : g.outputs) any = any || is_view(g[o]);
    if (!any) return;
    const vec<char> live = live_nodes(g);
    vec<int> readers(g.nodes.size(), 0);
    for (int i = 0; i < g.count(); ++i)
      for (int k = 0; live[i] && k < g[i].operand_count; ++k) ++readers[g.operand(g[i], k)];
    for (int o : g.outputs) ++readers[o];
    for (int i = 0; i < g.count(); ++i)
      if (live[i] && joins(g[i])) find(g, i, readers, takes);
    for (int o : g.outputs)
      if (is_view(g[o])) find_turned(g, o, readers, takes);
  }
  /// The place of a result in another array; null if it has its own memory.
  constexpr const part* of(int id) const { return place_[id] < 0 ? nullptr : &parts_[place_[id]]; }
  /// Is it made of results that are written where they belong, so that it needs no step?
  constexpr bool is_whole(int id) const { return whole_[id]; }

 private:
  constexpr void find(const graph& g, int id, const vec<int>& readers, const auto& takes) {
    const node& n = g[id];
    const int axis = joined_axis(g, n), first = parts_.count();
    const shape strides = row_major(n.type.shape);
    std::int64_t at = 0;
    bool all = !is_dyn(size(n.type.shape)) && size(n.type.shape) > 0;
    vec<int> results;
    for (int k = 0; all && k < n.operand_count; ++k) {
      int from = g.operand(n, k);
      const shape extents = g[from].type.shape;
      while (is_reshape(g, from) && readers[from] == 1) from = g.operand(g[from], 0);
      part p{id, at * strides[axis], {}};
      all = readers[from] == 1 && reshape_strides(extents, strides, g[from].type.shape, p.strides) &&
            (writes_strides(g, from, takes) || writes_part(g[from], p.strides));
      parts_.push_back(p);
      results.push_back(from);
      at += extents[axis];
    }
    if (!all) return parts_.resize(static_cast<std::size_t>(first));
    whole_[id] = 1;
    for (int k = 0; k < results.count(); ++k) place_[results[k]] = first + k;
  }
  /// Looks for a kernel's result that output `id` only shows with its axes in another order.
  constexpr void find_turned(const graph& g, int id, const vec<int>& readers, const auto& takes) {
    vec<int> views;
    int from = id;
    for (; is_view(g[from]) && readers[from] == 1; from = g.operand(g[from], 0)) views.push_back(from);
    const shape extents = g[from].type.shape, dense = row_major(extents);
    const array_type& out = g[id].type;
    if (readers[from] != 1 || is_dyn(size(extents)) || !writes_strides(g, from, takes)) return;
    std::int64_t offset = 0;
    shape seen = dense;
    for (int k = views.count() - 1; k >= 0; --k) {
      const node& n = g[views[k]];
      if (!n.op->memory.strides(g[g.operand(n, 0)].type, n.type, g.words_of(n), offset, seen)) return;
    }
    if (out.dtype != g[from].type.dtype || size(out.shape) != size(extents) || is_row_major(out.shape, seen)) return;
    part p{id, 0, dense};
    const shape place = row_major(out.shape);
    for (int a = 0; a < extents.rank(); ++a) {
      int b = 0;
      while (b < out.shape.rank() && (out.shape[b] != extents[a] || seen[b] != dense[a])) ++b;
      if (extents[a] > 1 && b == out.shape.rank()) return;
      if (extents[a] > 1) p.strides[a] = place[b];
    }
    whole_[id] = 1;
    place_[from] = parts_.count();
    parts_.push_back(p);
  }
  static constexpr bool joins(const node& n) { return n.op && n.op->memory.joins; }
  /// Is it all elements of its operand, in their order?
  static constexpr bool is_reshape(const graph& g, int id) {
    const node& n = g[id];
    if (!n.op || n.op->memory.kind != op_kind::view) return false;
    const array_type& from = g[g.operand(n, 0)].type;
    std::int64_t offset = 0;
    shape strides = row_major(from.shape);
    return n.op->memory.strides(from, n.type, g.words_of(n), offset, strides) && offset == 0 &&
           from.dtype == n.type.dtype && size(from.shape) == size(n.type.shape) && is_row_major(n.type.shape, strides);
  }
  /// A loop writes elements side by side. Small results stay apart, because equal small loops can run together.
  static constexpr bool writes_part(const node& n, const shape& strides) {
    constexpr std::int64_t least = 1024;
    return is_elementwise(n) && size(n.type.shape) >= least && is_row_major(n.type.shape, strides);
  }
  static constexpr bool writes_strides(const graph& g, int id, const auto& takes) {
    const node& n = g[id];
    if (!n.op) return false;
    const op& o = n.op == &get_p ? *g[g.operand(n, 0)].op : *n.op;
    return !o.attributes.has_bodies() && o.memory.kind == op_kind::general && takes(o).strided_results;
  }

  vec<part> parts_;
  vec<int> place_;   // of each node, in `parts_`
  vec<char> whole_;  // of each node
};

}  // namespace tokamax::detail
