// tokamax/backend/cpu/attention/finite_rows.hpp: keeps what is not finite away from sums in which it has a weight of zero.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/hidden.cpp
#pragma once

#include <tokamax/backend/cpu/attention/blocks.hpp>   // read_row
#include <tokamax/backend/cpu/attention/visible.hpp>  // visible_pairs
#include <tokamax/backend/cpu/vector/threads.hpp>     // scratch

#include <cmath>  // isfinite

namespace tokamax::cpu_backend::detail {

/// Rows of numbers, `stride` elements apart.
struct number_rows {
  const void* data;
  bool bfloat16;
  std::int64_t stride;

  const float* row(std::int64_t i, std::int64_t size, float* copy) const noexcept {
    const auto* const bytes = static_cast<const std::byte*>(data);
    return read_row(bytes + i * stride * (bfloat16 ? 2 : 4), bfloat16, size, copy);
  }
};

struct finite_rows_scratch;
struct wide_row_scratch;

/// Are all of these numbers finite?
inline bool all_finite(const number_rows& from, std::int64_t rows, std::int64_t size) {
  float* const copy = from.bfloat16 ? scratch<wide_row_scratch>(size) : nullptr;
  f32v sum(0.0f);  // 0 * x is NaN if x is infinite or NaN
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* const row = from.row(i, size, copy);
    std::int64_t j = 0;
    for (; j + width <= size; j += width) sum = fma(load(row + j), f32v(0.0f), sum);
    if (j < size) sum = fma(load_partial(row + j, size - j), f32v(0.0f), sum);
  }
  return reduce_add(sum) == 0;
}

/// These rows as the operand of a sum over them: as they are, or, if `guarded` and there is a number that is not finite, as f32
/// copies with zeros in place of such numbers. Their weight may be 0, and 0 times infinity is NaN. The copies last until the
/// next call.
struct finite_rows : number_rows {
  bool changed = false;

  finite_rows(const number_rows& from, std::int64_t rows, std::int64_t size, bool guarded) : number_rows(from) {
    if (!guarded || all_finite(from, rows, size)) return;
    auto* const copies = scratch<finite_rows_scratch>(rows * size);
    for (std::int64_t i = 0; i < rows; ++i) {
      float* const to = copies + i * size;
      const float* const row = from.row(i, size, to);
      for (std::int64_t j = 0; j < size; ++j) to[j] = std::isfinite(row[j]) ? row[j] : 0.0f;
    }
    data = copies, bfloat16 = false, stride = size, changed = true;
  }
};

/// Can a pair of a query and a key be hidden?
inline bool hides_pairs(const attention_shape& s) noexcept { return s.causal || s.modified(); }

/// Does the one query of a block see its one key?
inline bool sees_pair(const attention_shape& s, const pair_block& at) noexcept {
  return visible_pairs(s, at) != visible::none;
}

}  // namespace tokamax::cpu_backend::detail
