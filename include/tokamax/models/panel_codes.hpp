// tokamax/models/panel_codes.hpp: rows of blocks of ggml as columns of packed weights.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/gguf_file.cpp
#pragma once

#include <tokamax/checkpoint/ggml_blocks.hpp>        // ggml_format
#include <tokamax/ops/quantized/packed_weights.hpp>  // packed_weights

#include <vector>  // vector

namespace tokamax::models::detail {

/// Packed weights of some matrices [terms, columns] that get their columns one after the other.
class panel_codes {
 public:
  static constexpr std::size_t columns = tokamax::detail::packed_columns;  // of a panel

  panel_codes(const checkpoint::ggml_format& format, std::int64_t terms, std::int64_t count, std::int64_t matrices = 1)
      : format_(format),
        terms_(terms),
        groups_(terms / format.codes.group),
        count_(count),
        panels_(tokamax::detail::packed_panels(count)) {
    const checkpoint::ggml_codes& c = format.codes;
    using enum packed_format;
    result_.format = c.floats ? c.bits == 8 ? fp8 : fp4 : c.bits == 8 ? int_8 : c.has_offset ? uint_4 : int_4;
    result_.rows = terms, result_.columns = count;
    const auto of = [&](dtype type, std::int64_t rows) {
      return array::uninitialized({type, false, {matrices, panels_, rows, tokamax::detail::packed_columns}});
    };
    result_.codes =
        of(tokamax::detail::code_dtype(result_.format), tokamax::detail::packed_steps(result_.format, terms));
    result_.scale = of(c.half ? f16 : f32, groups_);
    if (c.has_offset) result_.offset = of(c.half ? f16 : f32, groups_);
    codes_.resize(columns * static_cast<std::size_t>(terms));
    scale_.resize(columns * static_cast<std::size_t>(groups_));
    offset_.resize(c.has_offset ? scale_.size() : 0);
  }
  /// Column `at`, counted over all matrices, is the row of these blocks; a panel is written with its last column.
  void put(std::int64_t at, const std::byte* blocks) {
    constexpr auto n = static_cast<std::int64_t>(columns);
    const std::int64_t of_matrix = at % count_, column = of_matrix % n;
    checkpoint::ggml_block block;
    for (std::int64_t k = 0; k < terms_; k += format_.elements, blocks += format_.bytes) {
      format_.codes.read(blocks, block);
      std::copy_n(block.code, format_.elements, codes_.data() + column * terms_ + k);
      for (std::int64_t g = 0; g < format_.elements / format_.codes.group; ++g) {
        const auto to = static_cast<std::size_t>((k / format_.codes.group + g) * n + column);
        scale_[to] = block.scale[g];
        if (!offset_.empty()) offset_[to] = block.offset[g];
      }
    }
    if (column + 1 == n || of_matrix + 1 == count_) write(at / count_ * panels_ * n + of_matrix - column, column + 1);
  }
  packed_weights finish() && { return std::move(result_); }

 private:
  // The columns of a panel from `first` on; those behind the last one are zeros.
  void write(std::int64_t first, std::int64_t filled) {
    constexpr auto n = static_cast<std::int64_t>(columns);
    std::fill(codes_.begin() + filled * terms_, codes_.end(), std::int8_t{0});
    if (format_.codes.bits == 8) {
      auto* const to = reinterpret_cast<std::int8_t*>(result_.codes.mutable_bytes()) + first * terms_;
      for (std::int64_t c = 0; c < n; ++c)
        for (std::int64_t k = 0; k < terms_; ++k) to[k * n + c] = codes_[static_cast<std::size_t>(c * terms_ + k)];
    } else {
      std::uint32_t* const to = result_.codes.mutable_data<std::uint32_t>() + first * terms_ / 8;
      for (std::int64_t c = 0; c < n; ++c)
        for (std::int64_t w = 0; w < terms_ / 8; ++w) {
          const std::int8_t* const from = codes_.data() + c * terms_ + 8 * w;
          std::uint32_t word = 0;
          for (int t = 0; t < 8; ++t) word |= static_cast<std::uint32_t>(from[t] & 15) << 4 * t;
          to[w * n + c] = word;
        }
    }
    put_scales(scale_, result_.scale, first, filled);
    if (!offset_.empty()) put_scales(offset_, result_.offset, first, filled);
  }
  void put_scales(std::vector<float>& from, array& to, std::int64_t first, std::int64_t filled) const {
    constexpr auto n = static_cast<std::int64_t>(columns);
    float* const plain = to.dtype() == f32 ? to.mutable_data<float>() : nullptr;
    float16* const half = plain ? nullptr : to.mutable_data<float16>();
    for (std::int64_t i = 0; i < groups_ * n; ++i) {
      const float s = i % n < filled ? from[static_cast<std::size_t>(i)] : 0.0f;
      if (plain) plain[first * groups_ + i] = s;
      if (half) half[first * groups_ + i] = float16(s);
    }
  }

  const checkpoint::ggml_format& format_;
  std::int64_t terms_, groups_, count_, panels_;  // of a matrix
  packed_weights result_;
  std::vector<std::int8_t> codes_;     // of a panel: [column][term]
  std::vector<float> scale_, offset_;  // of a panel: [group][column]
};

}  // namespace tokamax::models::detail
