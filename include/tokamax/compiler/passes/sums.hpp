// tokamax/compiler/passes/sums.hpp: kernels that add arrays to their result do it for the sums that read the result.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/products.cpp
//
// A product, a bias and a residual are one step on a device whose kernel takes sums, because it then writes the sum once
// instead of writing, reading and writing again:
//
//   p = dot_general(x, w)             bf16[32, 1024, 768], read by the sum alone
//   s = (p + bias) + residual         computed in f32 and rounded to bf16
//
// becomes one node s = dot_general(x, w, bias, residual). It computes in f32 what the loop computed, rounds once, at the end,
// and not between product and sum.
#pragma once

#include <tokamax/compiler/passes/lower.hpp>  // drop_unused
#include <tokamax/compiler/passes/views.hpp>  // view_table

namespace tokamax {

namespace detail {

/// Is an op the sum of its two operands?
constexpr bool is_sum(const op& o) {
  return o.memory.kind == op_kind::elementwise && o.algebra.linear && o.algebra.commutative &&
         o.algebra.left_neutral == 0;
}

template <class KernelTakes>
class sum_joining {
 public:
  constexpr sum_joining(graph& g, const KernelTakes& takes)
      : g_(g), takes_(takes), views_(g), readers_(g.nodes.size(), 0), in_memory_(g.nodes.size(), 0) {
    const vec<char> live = live_nodes(g);
    for (int i = 0; i < g.count(); ++i) {
      if (!live[i]) continue;
      const node& n = g[i];
      const bool in_loop = n.op && n.op->memory.kind == op_kind::elementwise;
      for (int k = 0; k < n.operand_count; ++k) {
        ++readers_[g.operand(n, k)];
        if (!in_loop) in_memory_[g.operand(n, k)] = 1;
      }
      if (!in_loop) in_memory_[i] = 1;
    }
    for (int o : g.outputs) ++readers_[o], in_memory_[o] = 1;
    bool any = false;
    for (int i = g.count() - 1; i >= 0; --i)  // the whole sum first, then its parts
      if (live[i]) any = join(i) || any;
    if (any) drop_unused(g);
  }

 private:
  static constexpr int most_terms = 3;  // the result, a row and an array
  struct terms {
    int ids[most_terms];
    int count = 0;
    bool whole = true;  ///< is it a sum of so few?
  };

  static constexpr bool is_float(dtype t) { return t == f32 || t == bf16 || t == f16; }
  /// Collects the terms of a sum. Parts of it that something else reads are terms themselves.
  constexpr void collect(int id, bool is_root, terms& found) const {
    if (!found.whole) return;
    const node& n = g_[id];
    const bool open = n.op && is_float(n.type.dtype) && (is_root || readers_[id] == 1);
    if (open && is_sum(*n.op)) {
      for (int k = 0; k < 2; ++k) collect(g_.operand(n, k), false, found);
      return;
    }
    if (open && n.op->algebra.conversion) {
      const dtype from = g_[g_.operand(n, 0)].type.dtype;
      // Only the whole sum is rounded: a smaller number of digits in between would be another program.
      if (is_float(from) && (is_root || bits_of(n.type.dtype) > bits_of(from)))
        return collect(g_.operand(n, 0), false, found);
    }
    found.whole = found.whole && found.count < most_terms;
    if (found.whole) found.ids[found.count++] = id;
  }
  /// Is it a part of the last axes that is added for all places on the others, in the dtype of the sum?
  constexpr bool is_row(int id, const array_type& s) const {
    const array_type& t = g_[id].type;
    if (t.dtype != s.dtype || t.shape != s.shape || views_.place[id] < 0 || views_.dense[id]) return false;
    const strided& v = views_.entries[views_.place[id]];
    std::int64_t elements = 1;
    bool repeats = false, row = !v.counting;
    for (int a = s.shape.rank() - 1; a >= 0; --a) {
      if (s.shape[a] == 1) continue;
      repeats = repeats || v.strides[a] == 0;
      row = row && v.strides[a] == (repeats ? 0 : elements);
      elements = mul_extent(elements, s.shape[a]);
    }
    return row && repeats && v.strides[-1] == 1;
  }
  constexpr bool is_whole_array(int id, const array_type& s) const {
    const node& n = g_[id];
    return n.type.dtype == s.dtype && n.type.shape == s.shape && views_.place[id] < 0 && in_memory_[id] &&
           n.op != &constant_p;
  }
  /// Is it a result that a kernel can add to, which only this sum reads?
  constexpr bool is_product(int id, const array_type& s) const {
    const node& n = g_[id];
    if (!n.op || n.operand_count != 2 || readers_[id] != 1 || n.type.shape != s.shape || !takes_(*n.op).sums)
      return false;
    return n.type.dtype == s.dtype || g_[g_.operand(n, 0)].type.dtype == s.dtype;
  }
  constexpr bool join(int i) {
    const array_type s = g_[i].type;
    if (!g_[i].op || g_[i].op->memory.kind != op_kind::elementwise || !is_float(s.dtype)) return false;
    terms found;
    collect(i, true, found);
    if (!found.whole || found.count == 0 || found.ids[0] == i) return false;
    int product = -1, row = -1, all = -1;
    for (int k = 0; k < found.count; ++k) {
      const int id = found.ids[k];
      int& place = is_product(id, s) && product < 0 ? product : is_row(id, s) ? row : all;
      if (place >= 0 || (&place == &all && !is_whole_array(id, s))) return false;
      place = id;
    }
    if (product < 0) return false;
    make(i, product, row, all);
    return true;
  }
  constexpr void make(int i, int product, int row, int all) {
    const node from = g_[product];
    node& n = g_.nodes[i];
    n.op = from.op;
    n.first_word = from.first_word;
    n.word_count = from.word_count;
    n.first_operand = g_.operands.count();
    n.operand_count = 2 + (row >= 0) + (all >= 0);
    for (int k = 0; k < 2; ++k) g_.operands.push_back(g_.operands[from.first_operand + k]);
    for (const int id : {row, all})
      if (id >= 0) g_.operands.push_back(id), in_memory_[id] = 1;
    in_memory_[i] = 1;
    readers_[product] = 0;
  }

  graph& g_;
  const KernelTakes& takes_;
  const view_table views_;
  vec<int> readers_;     // of each node: how many operands and results of the live program it is
  vec<char> in_memory_;  // of each node: is its value stored, whatever its loop does?
};

}  // namespace detail

/// Rewrites a lowered program for kernels that take sums (`takes(op).sums`): a sum of the result of such a kernel with a row
/// for all rows and an array of the same shape, either of them or none, becomes further operands of the kernel, in this order.
/// The result has the dtype of the sum; both terms have it too.
constexpr void join_sums(graph& g, const auto& takes) {
  detail::sum_joining(g, takes);
  for (graph& body : g.bodies) join_sums(body, takes);
}

}  // namespace tokamax
