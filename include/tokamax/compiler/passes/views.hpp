// tokamax/compiler/passes/views.hpp: which values are the memory of other values, seen with other strides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/op.hpp>  // graph, op

namespace tokamax {

/// Element (i, j, ...) of a value is at base + offset + i * strides[0] + j * strides[1] + ... of another value. For an op
/// that counts, this number is the element itself, so that a fused loop computes what it would otherwise load.
struct strided {
  int base = -1;
  std::int64_t offset = 0;
  shape strides;
  bool counting = false;  ///< the base is a count that is not in memory
};

/// The memory that views show. `dense` is set for a view whose view cannot be expressed by strides, so that it must be
/// copied first.
struct view_table {
  vec<int> place;  ///< of each node, in `entries`; -1 for a node that is no view and does not count
  vec<strided> entries;
  vec<char> dense;

  constexpr explicit view_table(const graph& g) : place(g.nodes.size(), -1), dense(g.nodes.size(), 0) {
    const node* const nodes = g.nodes.data();
    for (int i = 0; i < g.count(); ++i) {
      const op_kind kind = nodes[i].op ? nodes[i].op->memory.kind : op_kind::general;
      if (kind != op_kind::view && kind != op_kind::counting) continue;
      entries.push_back(look(g, i, kind));
      place[i] = entries.count() - 1;
    }
  }

 private:
  constexpr strided look(const graph& g, int id, op_kind kind) {
    const node& n = g[id];
    const auto rule = n.op->memory.strides;
    if (!rule)
      detail::throw_error(message(n.op->name) << ": strides", "a view without a rule", "memory.strides", n.where);
    if (kind == op_kind::counting) {
      strided v{id, 0, {}, true};
      rule(n.type, n.type, g.words_of(n), v.offset, v.strides);
      return v;
    }
    const int from = g.operand(n, 0);
    const array_type& type = g[from].type;
    strided v{from, 0, row_major(type.shape)};
    if (!dense[from] && place[from] >= 0) v = entries[place[from]];
    if (!rule(type, n.type, g.words_of(n), v.offset, v.strides)) {
      dense[from] = 1;
      v = {from, 0, row_major(type.shape)};
      if (!rule(type, n.type, g.words_of(n), v.offset, v.strides))
        detail::throw_error(message(n.op->name) << ": strides", type, "a view of dense memory", n.where);
    }
    return v;
  }
};

}  // namespace tokamax
