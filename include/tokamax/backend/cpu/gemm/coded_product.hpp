// tokamax/backend/cpu/gemm/coded_product.hpp: rows of f32 times packed weights, with the bits of the product in floats.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/gemm/coded_matrix.hpp>      // coded_matrix, each_coded_term
#include <tokamax/backend/cpu/gemm/dispatch.hpp>          // microkernels_for
#include <tokamax/backend/cpu/gemm/isa/avx512_codes.hpp>  // add_codes_avx512
#include <tokamax/backend/cpu/gemm/one_product.hpp>       // gemm_one
#include <tokamax/backend/cpu/vector/threads.hpp>         // parallel_for

#include <algorithm>  // min
#include <cstdint>    // int64_t

namespace tokamax::cpu_backend {

namespace detail {

/// So many rows are multiplied with numbers that never leave the registers. The rest of the library's products fuse where the
/// machine can, so this must too.
#if defined(__x86_64__) && !defined(__FMA__)
inline constexpr std::int64_t most_coded_rows = 0;
#else
inline constexpr std::int64_t most_coded_rows = 4;
#endif

/// Adds terms [first, end) of Rows rows of x [Rows, k] and Vectors registers of columns to sums [Rows, 64].
template <packed_format F, int Rows, int Vectors>
void add_coded_terms(const coded_matrix& w, const float* x, std::int64_t column, std::int64_t first, std::int64_t end,
                     float* sums) noexcept {
  f32v sum[Rows][Vectors];
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) sum[r][v] = load(sums + r * coded_columns + v * width);
  each_coded_term<F, Vectors>(coded_columns_of_panel(w, column), first, end,
                              [&](std::int64_t k, int v, f32v numbers) __attribute__((always_inline)) {
#pragma GCC unroll 4
                                for (int r = 0; r < Rows; ++r)
                                  sum[r][v] = fma(f32v(x[r * w.k + k]), numbers, sum[r][v]);
                              });
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) store(sums + r * coded_columns + v * width, sum[r][v]);
}

/// Adds terms [first, end) of Rows rows of x [Rows, k] and a panel of columns to sums [Rows, 64].
template <packed_format F, int Rows>
void add_coded_panel(const coded_matrix& w, const float* x, std::int64_t column, std::int64_t first, std::int64_t end,
                     float* sums, [[maybe_unused]] gemm_machine machine) noexcept {
#if defined(__x86_64__)
  if (machine == gemm_machine::avx512) {
    constexpr bool may_have_offset = F == packed_format::int_8 || F == packed_format::uint_4;
    const coded_columns_of_panel from(w, column);
    if (may_have_offset && from.offset != nullptr)
      return add_codes_avx512<F, may_have_offset, Rows>(from, x, w.k, first, end, sums);
    return add_codes_avx512<F, false, Rows>(from, x, w.k, first, end, sums);
  }
#endif
  // The fewer rows, the more columns at a time: so many sums hide the latency of fma, and few spill. If a panel takes several
  // turns, they are short, so that memory is read from front to back.
  constexpr int all = static_cast<int>(coded_columns / width), wanted = Rows == 1 ? 8 : Rows < 4 ? 4 : 2;
  constexpr int vectors = wanted < all ? wanted : all;
  const std::int64_t burst = vectors == all ? end - first : 64;
  for (std::int64_t k = first; k < end; k += burst)
    for (int v = 0; v < all; v += vectors)
      add_coded_terms<F, Rows, vectors>(w, x, column + v * width, k, std::min(end, k + burst), sums + v * width);
}

/// Rows rows of a panel of C. As in tiles of floats, the terms of a block are summed in order, and then added to C.
template <packed_format F, int Rows>
void multiply_panel_of_codes(const coded_matrix& w, const float* x, std::int64_t column, std::int64_t block, float* c,
                             gemm_machine machine) noexcept {
  const std::int64_t columns = std::min(coded_columns, w.n - column);
  for (std::int64_t first = 0; first < w.k; first += block) {
    alignas(64) float sums[Rows * coded_columns] = {};
    add_coded_panel<F, Rows>(w, x, column, first, std::min(w.k, first + block), sums, machine);
    for (int r = 0; r < Rows; ++r)
      for (std::int64_t j = 0; j < columns; ++j) {
        float& to = c[r * w.n + column + j];
        to = first == 0 ? sums[r * coded_columns + j] : to + sums[r * coded_columns + j];
      }
  }
}

/// Few rows: each panel is read once, from its first term to its last.
template <packed_format F, int Rows>
void few_rows_of_codes(const coded_matrix& w, const float* x, float* c, gemm_machine machine) {
  const std::int64_t block = gemm_k_block(w.k, microkernels_for(machine));
  parallel_for(tokamax::detail::packed_panels(w.n), [&](std::int64_t panel) {
    multiply_panel_of_codes<F, Rows>(w, x, panel * coded_columns, block, c, machine);
  });
}

}  // namespace detail

/// C [m, n] = X [m, k] W. The bits are those of `gemm` with the numbers of W: a sum in the order of k, cut into blocks that
/// depend on k only. So they do not depend on m or on the number of threads.
inline void coded_product(std::int64_t m, const float* x, const coded_matrix& w, float* c,
                          gemm_machine machine = best_gemm_machine()) {
  using namespace detail;
  if (m > most_coded_rows || m == 0 || w.k == 0)
    return gemm_one({.m = m,
                     .n = w.n,
                     .k = w.k,
                     .a = {x, w.k, 1},
                     .b = {nullptr, w.n, 1},
                     .c = c,
                     .ldc = w.n,
                     .mode = gemm_mode::assign,
                     .epilogue = {},
                     .source = {fill_panels_of_codes, &w}},
                    microkernels_for(machine), num_threads());
  for_format(w.format, [&](auto format) {
    constexpr packed_format f = decltype(format)::value;
    if (m == 1) few_rows_of_codes<f, 1>(w, x, c, machine);
    if (m == 2) few_rows_of_codes<f, 2>(w, x, c, machine);
    if (m == 3) few_rows_of_codes<f, 3>(w, x, c, machine);
    if (m == 4) few_rows_of_codes<f, 4>(w, x, c, machine);
  });
}

}  // namespace tokamax::cpu_backend
