// tokamax/backend/cpu/gemm/problem.hpp: one matrix product, and the panels of its operands.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/microkernel_set.hpp>  // microkernel_set

#include <algorithm>  // min, max, fill_n
#include <cstddef>    // byte
#include <cstdint>    // int64_t, uintptr_t

namespace tokamax::cpu_backend {

/// The type of the elements of an operand: float, bit patterns of bfloat16, or std::int8_t.
enum class gemm_element : std::uint8_t { f32, bfloat16, int8 };

/// Element (i, j) is data[i * row_stride + j * column_stride]; a transpose swaps the strides.
struct matrix_view {
  const void* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
  gemm_element element = gemm_element::f32;

  std::int64_t element_bytes() const noexcept {
    return element == gemm_element::f32 ? 4 : element == gemm_element::bfloat16 ? 2 : 1;
  }
  const std::byte* at(std::int64_t row, std::int64_t column) const noexcept {
    return static_cast<const std::byte*>(data) + (row * row_stride + column * column_stride) * element_bytes();
  }
  const float* f32_at(std::int64_t row, std::int64_t column) const noexcept {
    return static_cast<const float*>(data) + row * row_stride + column * column_stride;
  }
};

/// What happens to the old values of C.
enum class gemm_mode { assign, accumulate };

/// A function that is called once for each finished tile of C, while it is in the cache, on any thread.
struct gemm_epilogue {
  /// c points to element (row, col) of C. The tile has rows x cols elements.
  void (*apply)(const void* context, float* c, std::int64_t ldc, std::int64_t row, std::int64_t col, std::int64_t rows,
                std::int64_t cols) noexcept = nullptr;
  const void* context = nullptr;
};

namespace detail {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) noexcept { return ceil_div(a, b) * b; }

// The number of terms that a tile sums before it adds to C. It depends on k and the machine only, because it determines the
// bits of the result.
constexpr std::int64_t gemm_k_block(std::int64_t k, const microkernel_set& kernels) noexcept {
  const std::int64_t blocks = k <= kernels.max_single_k_block ? 1 : ceil_div(k, kernels.k_block);
  return round_up(ceil_div(k, blocks), std::max(8, kernels.terms * kernels.unit));
}

// The number of 4-byte steps that hold `steps` terms.
constexpr std::int64_t packed_steps_of(const microkernel_set& kernels, std::int64_t steps) noexcept {
  return round_up(ceil_div(steps, kernels.terms), kernels.unit);
}

// Words of a column in a panel of B with `steps` terms.
constexpr std::int64_t panel_steps_of(const microkernel_set& kernels, std::int64_t steps) noexcept {
  return kernels.initial_sums + packed_steps_of(kernels, steps) * kernels.b_words;
}

/// B in panels: [block of k][panel][packed step][word][column].
struct packed_panels {
  const float* data = nullptr;  ///< null: B is not packed yet
  std::int64_t panels = 0;      ///< panels in a whole row
  std::int64_t block = 1;       ///< terms in a block
  std::int64_t first = 0;       ///< the panel that has column 0

  /// Panel `panel` of the block of `steps` terms that begins at term p.
  const float* at(const microkernel_set& kernels, std::int64_t p, std::int64_t steps,
                  std::int64_t panel) const noexcept {
    return data +
           (p / block * panel_steps_of(kernels, block) * panels + (first + panel) * panel_steps_of(kernels, steps)) *
               kernels.columns;
  }
};

/// A function that writes panels of a B which is no matrix of numbers, such as one of codes of few bits.
struct panel_source {
  /// Writes the terms [p, p + steps) of `panels` panels of `width` columns from `column` on; p is a multiple of 8.
  void (*fill)(const void* context, float* panels_to, std::int64_t p, std::int64_t steps, std::int64_t column,
               std::int64_t width, std::int64_t panels) noexcept = nullptr;
  const void* context = nullptr;
};

struct gemm_problem {
  std::int64_t m, n, k;
  matrix_view a, b;
  float* c;
  std::int64_t ldc;
  gemm_mode mode;
  gemm_epilogue epilogue;
  packed_panels packed{};      // if it has data, it is used instead of b
  std::int64_t first_row = 0;  // the numbers of row 0 and column 0 for the epilogue
  std::int64_t first_column = 0;
  panel_source source{};  // if it has a function, this makes the panels of B, for tiles of f32
};

/// Rows of A as tiles read them: in panels, or not packed.
struct tile_rows {
  const float* data;
  std::int64_t row, step;  ///< distances, as gemm_tile_fn has them
};

/// Can tiles read A without packing it? Then the terms of a packed step are contiguous, and rows, whose terms are read one
/// after the other, do not compete for the same lines of the first-level cache.
inline bool reads_a_in_place(const gemm_problem& g, const microkernel_set& kernels) noexcept {
  constexpr std::int64_t page = 4096, line = 64;  // addresses a page apart share their lines
  const std::int64_t apart = g.a.row_stride * g.a.element_bytes() & (page - 1);
  return kernels.a_in_place && g.a.element_bytes() * kernels.terms == 4 && g.a.column_stride == 1 &&
         g.k % (kernels.terms * kernels.unit) == 0 && g.a.row_stride % kernels.terms == 0 &&
         reinterpret_cast<std::uintptr_t>(g.a.data) % 4 == 0 && (kernels.unit == 1 || g.m % kernels.rows == 0) &&
         (g.m <= 4 || (apart >= line && apart <= page - line));
}

/// Rows of A in a panel of `height` of them.
inline tile_rows rows_of_panel(const microkernel_set& kernels, const float* panel, std::int64_t height) noexcept {
  return {panel, std::int64_t{kernels.unit} * kernels.a_words, height * kernels.a_words};
}

/// Rows of A from `row` on, and their terms from `term` on.
inline tile_rows rows_in_place(const gemm_problem& g, const microkernel_set& kernels, std::int64_t row,
                               std::int64_t term) noexcept {
  return {reinterpret_cast<const float*>(g.a.at(row, term)), g.a.row_stride / kernels.terms, 1};
}

struct gemm_packed_a;  // the packed A of one super block, which the threads share
struct gemm_packed_b;  // the panels of B on which a thread works

/// Packs `lanes` rows of A, or columns of B, from `v.at(row, column)` on.
inline void pack_lanes(const microkernel_set& kernels, float* packed, std::int64_t padded, std::int64_t lanes,
                       std::int64_t steps, const matrix_view& v, std::int64_t row, std::int64_t column,
                       bool lanes_are_rows) noexcept {
  const std::int64_t lane = lanes_are_rows ? v.row_stride : v.column_stride,
                     step = lanes_are_rows ? v.column_stride : v.row_stride;
  const bool apart = lanes_are_rows && (kernels.pack_a != nullptr || kernels.pack_a_int8 != nullptr);
  const auto pack = [&]<class T>(auto any_side, auto side_of_a, const T* from) {
    (apart ? side_of_a : any_side)({packed, padded, lanes, steps, from, lane, step});
  };
  const std::byte* const from = v.at(row, column);
  switch (v.element) {
    case gemm_element::f32:
      return pack(kernels.pack, kernels.pack_a, reinterpret_cast<const float*>(from));
    case gemm_element::bfloat16:
      return pack(kernels.pack_bfloat16, kernels.pack_a_bfloat16, reinterpret_cast<const std::uint16_t*>(from));
    case gemm_element::int8:
      return pack(kernels.pack_int8, kernels.pack_a_int8, reinterpret_cast<const std::int8_t*>(from));
  }
}

/// Packs the terms [p, p + steps) of `panels` panels that are panel_size apart and begin at lane `first`. Lanes are rows of A
/// or columns of B, and the matrix has `lanes` of them. If lanes are contiguous, a few steps are packed at a time for all
/// panels, so that memory is read in long runs instead of one narrow panel after the other.
inline void pack_panels(const microkernel_set& kernels, float* packed, std::int64_t panel_size, std::int64_t panels,
                        const matrix_view& v, bool lanes_are_rows, std::int64_t lanes, std::int64_t first,
                        std::int64_t p, std::int64_t steps) noexcept {
  const std::int64_t width = lanes_are_rows ? kernels.rows : kernels.columns;
  const std::int64_t step_words = width * (lanes_are_rows ? kernels.a_words : kernels.b_words);
  const bool side_by_side = (lanes_are_rows ? v.row_stride : v.column_stride) == 1;
  const std::int64_t chunk = side_by_side ? std::max(4, kernels.unit) * kernels.terms : steps;
  for (std::int64_t q = 0; q < steps; q += chunk) {
    for (std::int64_t j = 0; j < panels; ++j) {
      const std::int64_t lane = first + j * width;
      pack_lanes(kernels, packed + j * panel_size + q / kernels.terms * step_words, width,
                 std::min(width, lanes - lane), std::min(chunk, steps - q), v, lanes_are_rows ? lane : p + q,
                 lanes_are_rows ? p + q : lane, lanes_are_rows);
    }
  }
}

/// Packs whole panels of B, with the initial sums before their terms and zeros after them.
inline void pack_b(const gemm_problem& g, const microkernel_set& kernels, float* packed, std::int64_t p,
                   std::int64_t steps, std::int64_t panel0, std::int64_t panel1) noexcept {
  const std::int64_t nr = kernels.columns, panel_steps = panel_steps_of(kernels, steps);
  if (g.source.fill != nullptr)
    return g.source.fill(g.source.context, packed, p, steps, g.first_column + panel0 * nr, nr, panel1 - panel0);
  pack_panels(kernels, packed + kernels.initial_sums * nr, panel_steps * nr, panel1 - panel0, g.b, false, g.n,
              panel0 * nr, p, steps);
  const std::int64_t filled = kernels.initial_sums + ceil_div(steps, kernels.terms) * kernels.b_words;
  for (std::int64_t j = 0; j < panel1 - panel0; ++j) {
    float* const panel = packed + j * panel_steps * nr;
    std::fill_n(panel + filled * nr, (panel_steps - filled) * nr, 0.0f);
    if (kernels.initial_sums > 0) kernels.fill_initial_sums(panel, nr, filled - kernels.initial_sums);
  }
}

inline void finish(const gemm_problem& g, std::int64_t row, std::int64_t col, std::int64_t rows,
                   std::int64_t cols) noexcept {
  if (g.epilogue.apply != nullptr)
    g.epilogue.apply(g.epilogue.context, g.c + row * g.ldc + col, g.ldc, g.first_row + row, g.first_column + col, rows,
                     cols);
}

}  // namespace detail
}  // namespace tokamax::cpu_backend
