// tokamax/compiler/joined_results.hpp: results of kernels that are written where a concatenation would copy them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/joined_results.cpp
#pragma once

#include <tokamax/compiler/fuse.hpp>   // is_view
#include <tokamax/compiler/plan.hpp>   // kernel_takes
#include <tokamax/compiler/views.hpp>  // strided
#include <tokamax/lax/reshape.hpp>     // reshape_strides

namespace tokamax::detail {

/// Finds the ops that place their operands next to each other, and whose operands are results of kernels that write with any
/// strides. If nothing else reads these results, the kernels write them where they belong, and nothing is copied: the
/// gradients of queries, keys and values become the gradient of their common product.
class joined_results {
 public:
  constexpr joined_results(const graph& g, const auto& takes) : g_(g) {
    const node* const nodes = g.nodes.data();  // a raw pointer, because accessors are slow in constant expressions
    vec<int> joins;
    for (int i = 0, n = g.count(); i < n; ++i)
      if (nodes[i].op && nodes[i].op->memory.kind == op_kind::general && takes(*nodes[i].op).joins) joins.push_back(i);
    if (joins.empty()) return;
    place_.resize(g.nodes.size(), -1);
    vec<int> users(g.nodes.size(), 0);
    for (int i = 0, n = g.count(); i < n; ++i)
      for (int e = nodes[i].first_operand; e < nodes[i].first_operand + nodes[i].operand_count; ++e)
        ++users[g.operands[e]];
    for (int o : g.outputs) ++users[o];
    for (int i : joins) join(i, users, takes);
  }

  /// Where result `id` of a kernel lies: in the memory of another node, with these strides. Null: in its own.
  constexpr const strided* find(int id) const {
    return !place_.empty() && place_[id] >= 0 ? &entries_[place_[id]] : nullptr;
  }
  /// Do other kernels write the whole result of node `id`?
  constexpr bool is_written(int id) const {
    for (const strided& s : entries_)
      if (s.base == id) return true;
    return false;
  }

 private:
  constexpr void join(int i, const vec<int>& users, const auto& takes) {
    const node& n = g_[i];
    const shape& whole = n.type.shape;
    const shape steps = row_major(whole);
    const auto axis = static_cast<int>(g_.words_of(n)[0]);
    vec<int> writers;
    vec<strided> found;
    std::int64_t offset = 0;
    for (int e = n.first_operand; e < n.first_operand + n.operand_count; ++e) {
      const int operand = g_.operands[e], writer = writer_of(operand, users, takes);
      const shape& part = g_[operand].type.shape;
      strided s{i, offset, {}};
      if (writer < 0 || is_dyn(size(whole)) || is_dyn(size(part)) || size(part) == 0) return;
      if (!reshape_strides(part, steps, g_[writer].type.shape, s.strides)) return;
      offset += part[axis] * steps[axis];
      writers.push_back(writer);
      found.push_back(s);
    }
    for (int k = 0; k < found.count(); ++k) {
      place_[writers[k]] = entries_.count();
      entries_.push_back(found[k]);
    }
  }
  /// The result of a kernel that `id` is, or is a reshape of. -1 if the kernel cannot write it elsewhere, or if another node
  /// reads it.
  constexpr int writer_of(int id, const vec<int>& users, const auto& takes) const {
    while (true) {
      const node& n = g_[id];
      if (users[id] != 1 || !n.op || place_[id] >= 0) return -1;
      if (n.op->memory.kind == op_kind::barrier || is_reshape(n)) {
        id = g_.operand(n, 0);
        continue;
      }
      const op* const kernel = n.op == &get_p ? g_[g_.operand(n, 0)].op : n.op;
      const bool writes = n.op == &get_p || !n.op->infer_all;
      return writes && kernel->memory.kind == op_kind::general && takes(*kernel).strided_results ? id : -1;
    }
  }

  /// Does the node show all elements of its operand in their order?
  constexpr bool is_reshape(const node& n) const {
    if (!is_view(n)) return false;
    const array_type& from = g_[g_.operand(n, 0)].type;
    std::int64_t offset = 0;
    shape strides = row_major(from.shape);
    return size(from.shape) == size(n.type.shape) &&
           n.op->memory.strides(from, n.type, g_.words_of(n), offset, strides) && offset == 0 &&
           is_row_major(n.type.shape, strides);
  }

  const graph& g_;
  vec<int> place_;
  vec<strided> entries_;
};

}  // namespace tokamax::detail
