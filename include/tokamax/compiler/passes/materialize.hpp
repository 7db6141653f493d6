// tokamax/compiler/passes/materialize.hpp: which values of a program lie in memory, and which are computed where they are read.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/passes/schedule.cpp
//
// A program is quick if it writes few values to memory. Five passes decide for each node, in this order: must its value lie
// in memory; is it so cheap that loops had better compute it again (two passes); can the reduction that reads it run its loop; and does
// anything still use it?
#pragma once

#include <tokamax/compiler/passes/fuse.hpp>   // fusion
#include <tokamax/compiler/passes/views.hpp>  // view_table

namespace tokamax::detail {

constexpr bool is_barrier(const node& n) { return n.op && n.op->memory.kind == op_kind::barrier; }

/// Does a reduction read elements that follow each other, or rows that are long? Only then can the producer of its operand
/// make many elements at a time. Neighbouring axes that are all reduced, or all kept, count as one axis.
constexpr bool reads_rows(const shape& s, const axes& reduced) {
  constexpr int long_row = 1024;
  int axes = 0;  // counted from the innermost axis outwards
  bool inner = false, before = false;
  std::int64_t row = 1;
  for (int i = s.rank() - 1; i >= 0; --i) {
    if (s[i] == 1) continue;
    const bool now = reduced.contains(i);
    if (axes == 0) inner = now;
    if (axes == 0 || now != before) ++axes;
    if (axes == 1) row = mul_extent(row, s[i]);
    before = now;
  }
  return is_dyn(row) || row >= long_row || axes <= (inner ? 2 : 3);
}

/// The views and the groups of a lowered graph, and the decisions about each node.
class materialization {
 protected:
  /// `takes(op)`: the kernel_takes of the device's kernel.
  constexpr materialization(const graph& g, const auto& takes) : g_(g), views_(g), groups_(g), places_(g.nodes.size()) {
    mark_needed(takes);
    mark_recomputed();
    if constexpr (requires { takes.computes_again; })
      if (takes.computes_again) mark_computed_again();
    mark_producers(takes);
    mark_live();
  }

  /// The node that computes the value of `id`: a barrier only hands on its operand.
  constexpr int real(int id) const {
    while (is_barrier(nodes_[id])) id = operands_[nodes_[id].first_operand];
    return id;
  }
  /// Where in memory readers of `id` find its elements: in its own memory, or for a view in that of another node.
  constexpr strided memory(int id) const {
    id = real(id);
    if (dense_[id] || view_[id] < 0) return {id, 0, row_major(nodes_[id].type.shape)};
    strided v = seen_[view_[id]];
    v.base = real(v.base);
    return v;
  }
  /// Where the elements of `id` are found without its own memory, if it is a view or counts.
  constexpr strided source(int id) const { return view_[id] < 0 ? memory(id) : seen_[view_[id]]; }
  constexpr bool is_counting(int id) const { return !dense_[id] && view_[id] >= 0 && seen_[view_[id]].counting; }
  constexpr bool is_dense(int id) const {
    if (dense_[id] || view_[id] < 0) return true;
    const strided& v = seen_[view_[id]];
    return !v.counting && is_row_major(nodes_[id].type.shape, v.strides);
  }
  constexpr bool in_group_with(int p, int i) const { return root_[p] >= 0 && root_[p] == root_[i]; }

  const graph& g_;
  view_table views_;
  fusion groups_;
  /// The decisions about a node.
  ///
  /// needed, stays  its value must lie in memory; stays: also if a loop could compute it again
  /// live           it is computed for its own loop
  /// buffer, reg    where its value lies: the buffer in the plan, the register in the loop that is being built
  /// head, next     a list: the members of a group from its first node, or the results of a kernel
  /// from, lines    it is computed again from the node `from`, in so many lines of a loop
  /// joined         a kernel, and the node that a group makes for it, name each other
  struct place {
    bool needed = false, stays = false, live = false;
    int buffer = -1, reg = -1, head = -1, next = -1, from = -1, lines = 0, joined = -1;
  };
  static constexpr int most_recomputed = 3, most_computed_again = 16;
  vec<place> places_;
  // The same tables as raw pointers, because calls of accessors are slow in constant expressions.
  const node* const nodes_ = g_.nodes.data();
  const int *const operands_ = g_.operands.data(), *const root_ = groups_.root.data();
  const char* const dense_ = views_.dense.data();
  const int* const view_ = views_.place.data();
  const strided* const seen_ = views_.entries.data();
  place* const at_ = places_.data();

 private:
  /// Notes that `id` itself must lie in memory. A view is then copied, so that the value it reads must lie there too.
  constexpr void need(int id) {
    id = real(id);
    at_[id].needed = at_[id].stays = true;
    if (is_view(nodes_[id]) && !seen_[view_[id]].counting) {
      const int base = real(seen_[view_[id]].base);
      at_[base].needed = at_[base].stays = true;
    }
  }
  /// Notes that `id` is read from memory, where a view may be read through the value behind it.
  constexpr void need_memory(int id) {
    id = real(id);
    if (dense_[id] || view_[id] < 0)
      need(id);
    else if (const strided& v = seen_[view_[id]]; !v.counting)
      need(v.base);
  }

  /// Finds the values that must lie in memory. The loop runs backwards, because the users of a view decide whether it is
  /// copied, and they come after it.
  constexpr void mark_needed(const auto& takes) {
    for (int i = g_.count() - 1; i >= 0; --i) {
      const node& n = nodes_[i];
      if (!n.op || n.operand_count == 0) continue;
      const int* const operands = operands_ + n.first_operand;
      if (n.op->memory.kind == op_kind::elementwise) {
        for (int k = 0; k < n.operand_count; ++k) {
          const int o = real(operands[k]);
          if (in_group_with(o, i) || nodes_[o].op == &constant_p) continue;
          if (is_elementwise(nodes_[o]) && nodes_[o].type.shape == n.type.shape)
            at_[o].needed = true;
          else
            need_memory(o);
        }
      } else if (n.op->memory.kind == op_kind::general) {
        const bool any_strides = takes(*n.op).views;
        for (int k = 0; k < n.operand_count; ++k) {
          const int o = real(operands[k]);
          if (is_counting(o) || !(any_strides || is_dense(o)))
            need(o);
          else
            need_memory(o);
        }
      }
    }
    for (int i = 0; i < g_.count(); ++i)
      if (dense_[i] && (is_view(nodes_[i]) || is_free(nodes_[i]))) need(i);
    for (int o : g_.outputs) need_memory(o);
  }

  /// Finds values that other loops compute again instead of reading them. Such a value is read by loops only, and is a sum
  /// or product of constants and one value that its own loop stores anyway. Computing it again takes no memory, and no time
  /// either, because these loops wait for memory.
  constexpr void mark_recomputed() {
    for (int i = 0; i < g_.count(); ++i) {
      const node& n = nodes_[i];
      if (at_[i].stays || !n.op || !n.op->memory.recomputed) continue;
      int from = -1, lines = 1;
      for (int e = n.first_operand; e < n.first_operand + n.operand_count; ++e) {
        const int o = real(operands_[e]);
        if (nodes_[o].op == &constant_p) continue;
        const int source = at_[o].from >= 0 ? at_[o].from : o;
        lines = from >= 0 && from != source ? most_recomputed + 1 : lines + at_[o].lines;
        from = source;
      }
      if (from < 0 || lines > most_recomputed || !in_group_with(from, i) || !at_[from].needed) continue;
      at_[i].needed = false;
      at_[i].from = from;
      at_[i].lines = lines;
    }
  }
  /// For devices that compute much faster than they read: finds values that other loops compute again from what their own
  /// loop reads. That must be no more bytes than the value has, and their own loop must store something else. So no loop
  /// reads more, and memory that is held until the last reader is no more either.
  constexpr void mark_computed_again() {
    vec<int> results(g_.nodes.size(), 0);
    for (int i = 0; i < g_.count(); ++i)
      if (root_[i] >= 0 && at_[i].needed) ++results[root_[i]];
    vec<int> chain, sources;
    for (int i = 0; i < g_.count(); ++i) {
      if (root_[i] < 0 || !at_[i].needed || at_[i].stays || results[root_[i]] < 2) continue;
      chain.clear();
      sources.clear();
      chain.push_back(i);
      if (!follow_back(chain, sources) || sources.empty()) continue;
      std::int64_t bytes = 0;
      for (int o : sources) bytes += bytes_read(o);
      if (bytes > size(nodes_[i].type.shape) * size_of(nodes_[i].type.dtype)) continue;
      --results[root_[i]];
      at_[i].needed = false;
      for (int m : chain) at_[m].from = sources[0];
    }
  }
  /// Adds to a chain of nodes those of its group that must be computed for it, and to the sources what these read from
  /// memory. False if that is too much, or if an extent is not known.
  constexpr bool follow_back(vec<int>& chain, vec<int>& sources) const {
    const auto has = [](const vec<int>& list, int v) {
      for (int x : list)
        if (x == v) return true;
      return false;
    };
    for (int k = 0; k < chain.count(); ++k) {
      const node& n = nodes_[chain[k]];
      if (is_dyn(size(n.type.shape)) || chain.count() > most_computed_again || sources.count() > 3) return false;
      for (int e = n.first_operand; e < n.first_operand + n.operand_count; ++e) {
        const int o = real(operands_[e]);
        if (nodes_[o].op == &constant_p || has(chain, o) || has(sources, o)) continue;
        if (in_group_with(o, chain[0]) && !at_[o].needed) {
          chain.push_back(o);
        } else {
          if (at_[o].from >= 0) return false;
          sources.push_back(o);
        }
      }
    }
    return chain.count() <= most_computed_again;
  }
  /// The bytes that a loop reads for operand `id`. An axis of stride 0 repeats elements, so it does not count.
  constexpr std::int64_t bytes_read(int id) const {
    if (is_counting(id)) return 0;
    const strided v = memory(id);
    std::int64_t bytes = size_of(nodes_[id].type.dtype);
    for (int a = 0; a < v.strides.rank(); ++a)
      if (v.strides[a] != 0) bytes *= nodes_[id].type.shape[a];
    return bytes;
  }
  /// Joins groups with reductions. If one reduction is the only reader of a group's only result, it runs the group's loop
  /// part by part while it reduces. The values are never stored as a whole, and the bits of the result are the same. The
  /// reduction may read the result reshaped.
  constexpr void mark_producers(const auto& takes) {
    vec<int> counts(2 * g_.nodes.size(), 0);
    int* const users = counts.data();         // how many users a node has
    int* const results = users + g_.count();  // and how many results a group
    bool any = false;
    for (int i = 0; i < g_.count(); ++i) {
      const node& n = nodes_[i];
      for (int e = n.first_operand, end = e + n.operand_count; e < end; ++e) ++users[operands_[e]];
      if (root_[i] >= 0 && at_[i].needed) ++results[root_[i]];
      any = any || (n.op && n.op->reduction.combines != combiner::none);
    }
    if (!any) return;
    for (int o : g_.outputs) ++users[o];
    for (int i = 0; i < g_.count(); ++i) {
      const node& n = nodes_[i];
      if (!n.op || n.op->reduction.combines == combiner::none || !takes(*n.op).producer) continue;
      const int operand = operands_[n.first_operand];
      int o = operand;
      if (is_view(nodes_[o]) && !dense_[o] && seen_[view_[o]].offset == 0 && is_dense(o))
        o = operands_[nodes_[o].first_operand];
      if (root_[o] < 0 || !at_[o].needed || results[root_[o]] != 1 || users[o] != 1 || users[operand] != 1) continue;
      if (!reads_rows(nodes_[operand].type.shape, reduced_axes(*n.op, g_.words_of(n)))) continue;
      at_[root_[o]].joined = i;
      at_[i].joined = o;
    }
  }
  /// Finds the members of groups that compute something for their own loop.
  constexpr void mark_live() {
    for (int i = g_.count() - 1; i >= 0; --i) {
      if (root_[i] < 0) continue;
      at_[i].live = at_[i].live || at_[i].needed;
      if (!at_[i].live) continue;
      const node& n = nodes_[i];
      for (int e = n.first_operand; e < n.first_operand + n.operand_count; ++e)
        if (const int o = real(operands_[e]); in_group_with(o, i)) at_[o].live = true;
    }
  }
};

}  // namespace tokamax::detail
