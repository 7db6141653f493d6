// tokamax/compiler/views.hpp: which values are the memory of other values, seen with other strides.
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

/// For every node the memory that it is a view of, which is its own if it is no view. `dense` is set for a view whose view
/// cannot be expressed by strides, so that it must be copied first.
struct view_table {
  vec<strided> of;
  vec<char> dense;

  constexpr explicit view_table(const graph& g) : of(g.nodes.size()), dense(g.nodes.size(), 0) {
    for (int i = 0; i < g.count(); ++i) of[i] = look(g, i);
  }

 private:
  constexpr strided look(const graph& g, int id) {
    const node& n = g[id];
    const op_kind kind = n.op ? n.op->memory.kind : op_kind::general;
    if (kind != op_kind::view && kind != op_kind::counting) return {id, 0, row_major(n.type.shape)};
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
    strided v = dense[from] ? strided{from, 0, row_major(type.shape)} : of[from];
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
