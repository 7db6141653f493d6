// tokamax/compiler/views.hpp: which values are other values' memory seen with other strides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/convert.hpp>    // bitcast_convert_type_p
#include <tokamax/lax/iota.hpp>       // iota_p
#include <tokamax/lax/slice.hpp>      // slice_p, and with it the other views
#include <tokamax/lax/transpose.hpp>  // transpose_p

namespace tokamax {

/// Element (i, j, ...) of a value lies at base + offset + i * strides[0] + ... of another one. Of an iota the "memory" is
/// the count itself, so that a fused loop can compute what it would load.
struct strided {
  int base = -1;
  std::int64_t offset = 0;
  shape strides;
  bool counting = false;  ///< the base is an iota that is not in memory
};

/// Are these the strides of a dense array, where extents of 1 may have any stride?
constexpr bool is_row_major(const shape& extents, const shape& strides) {
  const shape dense = row_major(extents);
  for (int i = 0; i < extents.rank(); ++i)
    if (extents[i] != 1 && strides[i] != dense[i]) return false;
  return true;
}

/// Strides of the same memory under the extents `to`; false if it would have to move.
constexpr bool reshape_strides(const shape& from, const shape& strides, const shape& to, shape& result) {
  shape fe, fs;  // without extents of 1
  for (int i = 0; i < from.rank(); ++i)
    if (from[i] != 1) {
      fe.push_back(from[i]);
      fs.push_back(strides[i]);
    }
  result = to;
  int i = fe.rank() - 1, j = to.rank() - 1;
  while (j >= 0) {  // from the innermost axis out, match runs of equal size
    if (to[j] == 1) {
      result[j--] = 0;
      continue;
    }
    if (i < 0) return false;
    std::int64_t have = fe[i], want = to[j], inner = fs[i];
    result[j] = inner;
    while (have != want) {
      if (is_dyn(have) || is_dyn(want)) return false;
      if (have < want) {  // the next axis of the memory must continue this run
        if (--i < 0 || fs[i] != mul_extent(inner, have)) return false;
        if (is_dyn(fe[i])) {
          have = mul_extent(have, fe[i]);
          if (have != want) return false;
        } else {
          have *= fe[i];
        }
      } else {
        do {
          if (--j < 0) return false;
        } while (to[j] == 1 && (result[j] = 0, true));
        result[j] = mul_extent(inner, want);
        if (is_dyn(to[j])) return false;
        want *= to[j];
      }
    }
    --i;
    --j;
  }
  return i < 0;
}

/// For every node: itself (dense), or the memory it is a view of. `dense` is set for views that must be copied first.
struct view_table {
  vec<strided> of;
  vec<char> dense;

  constexpr explicit view_table(const graph& g) : of(g.nodes.size()), dense(g.nodes.size(), 0) {
    for (int i = 0; i < g.count(); ++i) of[i] = look(g, i);
  }

 private:
  constexpr strided look(const graph& g, int id) {
    const node& n = g[id];
    if (n.kind == &iota_p) {
      const auto [type, extents, dimension, start] = unpack<iota_attributes>(g.words_of(n));
      shape s = extents;
      for (int i = 0; i < s.rank(); ++i) s[i] = i == dimension;
      return {id, start, s, true};
    }
    if (!n.kind || n.kind->memory.kind != op_kind::view) return {id, 0, row_major(n.type.extents)};
    const int from = g.operand(n, 0);
    const call c{.attributes = g.words_of(n), .attribute_count = n.word_count};
    strided v = dense[from] ? strided{from, 0, row_major(g[from].type.extents)} : of[from];
    if (n.kind == &transpose_p) {
      const axes p = c.attrs<transpose_options>().permutation;
      const shape before = v.strides;
      for (int i = 0; i < p.rank(); ++i) v.strides[i] = before[static_cast<int>(p[i])];
    } else if (n.kind == &broadcast_in_dim_p) {
      const auto [extents, dimensions] = c.attrs<broadcast_options>();
      const shape before = v.strides;
      v.strides = extents;
      for (int i = 0; i < extents.rank(); ++i) v.strides[i] = 0;
      for (int k = 0; k < dimensions.rank(); ++k)
        if (g[from].type.extents[k] != 1) v.strides[static_cast<int>(dimensions[k])] = before[k];
    } else if (n.kind == &slice_p) {
      const auto [start, limit, stride] = c.attrs<slice_options>();
      for (int i = 0; i < start.rank(); ++i) {
        if (start[i] != 0) v.offset = add_extent(v.offset, mul_extent(start[i], v.strides[i]));
        v.strides[i] = mul_extent(v.strides[i], stride[i]);
      }
      if (v.offset == no_extent && !dense[from]) {  // of the copied operand it is one, as `infer` has seen
        dense[from] = 1;
        return look(g, id);
      }
    } else if (n.kind == &reshape_p) {
      shape s;
      if (!reshape_strides(g[from].type.extents, v.strides, n.type.extents, s)) {
        dense[from] = 1;
        return {from, 0, row_major(n.type.extents)};
      }
      v.strides = s;
    }
    return v;
  }
};

}  // namespace tokamax
