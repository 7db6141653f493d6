// tokamax/ops/quantized/packed_rows.hpp: columns of packed weights by index, as a table of embeddings is read.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (quant/weight_only.hpp includes it)
#pragma once

#include <tokamax/lax/indexing/gather.hpp>           // gather
#include <tokamax/ops/quantized/packed_weights.hpp>  // packed_weights, unpacked_panels

namespace tokamax {

namespace detail {
/// Of each of T columns its entries in panels x [1, P, R, 64], as [T, 1, R, 1]. An id that is none of `columns` has no entry.
constexpr array entries_of_columns(const array& x, const array& ids, std::int64_t columns, source_line l) {
  const std::int64_t t = ids.extent(0), rows = x.extent(2);
  static_assert(packed_columns == 64);
  const array known = logical_and(ids >= 0, ids < static_cast<int>(columns)),
              id = select(known, ids, zeros_like(ids), l);
  const array first = shift_right_logical(id, 6, l) * static_cast<int>(rows * 64) + bitwise_and(id, 63, l);
  const array place = broadcast_in_dim(first, {t, rows}, {0}, l) + iota(i32, {t, rows}, 1, l) * 64;
  const array at = select(broadcast_in_dim(known, {t, rows}, {0}, l), place, full_like(place, -1), l);
  return reshape(gather(reshape(x, {x.size()}, l), at, l), {t, 1, rows, 1}, l);
}
}  // namespace detail

/// Columns of packed weights of one matrix by index: what `gather(table, ids)` gives of the table [N, K] of the same numbers.
/// An id outside [0, N) gives NaN.
///
/// shapes  ids [...] -> f32 [..., K]
/// dtypes  ids i32
/// errors  "packed_rows: ids"; "packed_rows: weights" for several matrices, or more elements than 2^31
constexpr array packed_rows(const packed_weights& w, const array& ids, source_line l = source_line::current()) {
  if (ids.dtype() != i32) {
    reject(ids, l, "packed_rows: ids", ids.type(), "i32");
    return ids;
  }
  if (w.codes.rank() != 4 || w.codes.extent(0) != 1 || w.codes.size() > most_indices) {
    reject(ids, l, "packed_rows: weights", w.codes.type(), "one matrix of at most 2^31 elements");
    return ids;
  }
  const array flat = reshape(ids, {ids.size()}, l);
  const auto of = [&](const array& x) { return detail::entries_of_columns(x, flat, w.columns, l); };
  const array all =
      detail::unpacked_panels(of(w.codes), of(w.scale), w.has_offset() ? of(w.offset) : array(), w.format, l);
  const array rows = slice_in_dim(reshape(all, {ids.size(), all.extent(2)}, l), 0, w.rows, 1, l);
  shape s = ids.shape();
  s.push_back(w.rows);
  return reshape(rows, s, l);
}

}  // namespace tokamax
