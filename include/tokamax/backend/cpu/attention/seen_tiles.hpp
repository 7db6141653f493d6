// tokamax/backend/cpu/attention/seen_tiles.hpp: the tiles of a block of scores that the backward pass computes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/options.cpp
#pragma once

#include <tokamax/backend/cpu/attention/visible.hpp>  // visible_pairs

namespace tokamax::cpu_backend::detail {

/// Which tiles of a block of scores [queries, keys] have a pair that is seen. A tile has `height` queries and one panel of
/// keys. For each panel, the rows from the first to the last such tile are computed; what is not seen among them is zero.
class seen_tiles {
 public:
  static constexpr std::int64_t most_panels = 4;

  /// `table` has room for all tiles.
  seen_tiles(const attention_shape& s, const pair_block& block, std::int64_t height, visible* table) noexcept
      : panels_(parts_of(block.keys, panel_lanes)), height_(height), table_(s.modified() ? table : nullptr) {
    for (std::int64_t j = 0; j < panels_; ++j) {
      rows_[j] = table_ == nullptr ? causal_rows(s, block, j) : found_rows(s, block, j);
      if (rows_[j].begin == rows_[j].end) continue;
      all_.begin = all_.end == 0 ? rows_[j].begin : std::min(all_.begin, rows_[j].begin);
      all_.end = std::max(all_.end, rows_[j].end);
    }
  }

  /// Rows of the block, or panels of a row of tiles, from begin to before end.
  struct range {
    std::int64_t begin = 0, end = 0;
  };
  range rows() const noexcept { return all_; }
  range rows_of(std::int64_t panel) const noexcept { return rows_[panel]; }
  range panels_of(std::int64_t row) const noexcept {
    range found;
    for (std::int64_t j = 0; j < panels_; ++j) {
      if (row < rows_[j].begin || row >= rows_[j].end) continue;
      if (found.end == 0) found.begin = j;
      found.end = j + 1;
    }
    return found;
  }
  /// How much of a tile is seen; if nothing but the causal rule hides keys, this is not asked.
  visible at(std::int64_t row, std::int64_t panel) const noexcept { return table_[row / height_ * panels_ + panel]; }
  bool whole(std::int64_t row, const range& panels) const noexcept {
    bool all = true;
    for (std::int64_t j = panels.begin; j < panels.end; ++j) all = all && at(row, j) == visible::all;
    return all;
  }

 private:
  range causal_rows(const attention_shape& s, const pair_block& block, std::int64_t panel) const noexcept {
    const std::int64_t query = std::max<std::int64_t>(0, block.k + panel * panel_lanes - block.q - s.ahead());
    return {query < block.queries ? query / height_ * height_ : block.queries, block.queries};
  }
  range found_rows(const attention_shape& s, const pair_block& block, std::int64_t panel) noexcept {
    range found;
    const std::int64_t key = panel * panel_lanes, keys = std::min(panel_lanes, block.keys - key);
    for (std::int64_t r = 0; r < block.queries; r += height_) {
      const std::int64_t queries = std::min(height_, block.queries - r);
      visible& tile = table_[r / height_ * panels_ + panel];
      tile = visible_pairs(s, {block.b, block.n, block.q + r, queries, block.k + key, keys});
      if (tile == visible::none) continue;
      if (found.end == 0) found.begin = r;
      found.end = r + queries;
    }
    return found;
  }

  std::int64_t panels_, height_;
  visible* table_;
  range rows_[most_panels], all_;
};

}  // namespace tokamax::cpu_backend::detail
