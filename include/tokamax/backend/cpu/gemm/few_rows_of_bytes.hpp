// tokamax/backend/cpu/gemm/few_rows_of_bytes.hpp: few rows of f32 times a matrix of 8-bit numbers, which is read once.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/quantized/mixed_dot.cpp
#pragma once

#include <tokamax/backend/cpu/vector/narrow.hpp>   // load_int8, load_uint8
#include <tokamax/backend/cpu/vector/simd.hpp>     // f32v, fma
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for

#include <algorithm>    // min, clamp
#include <array>        // array
#include <cstdint>      // int64_t
#include <type_traits>  // is_same_v
#include <utility>      // integer_sequence

namespace tokamax::cpu_backend {

/// C = A B. E is int8_t, uint8_t, or a float of 8 bits.
template <class E>
struct bytes_product {
  std::int64_t m, n, k;
  const float* a;  // [m, k]
  const E* b;      // [k, n]
  std::int64_t row_stride, column_stride;
  float* c;  // [m, n]
};

/// More rows want B in panels of floats.
inline constexpr std::int64_t most_rows_of_bytes = 16;

namespace detail {

/// What all 256 floats of 8 bits stand for.
template <class E>
inline constexpr std::array<float, 256> float_of_byte = [] {
  std::array<float, 256> all{};
  for (int i = 0; i < 256; ++i) {
    E e{};
    e.bits = static_cast<std::uint8_t>(i);
    all[static_cast<std::size_t>(i)] = static_cast<float>(e);
  }
  return all;
}();

/// `width` numbers as f32, which holds them exactly; or the first n, where the other lanes are zero.
template <class E, class... Count>
[[gnu::always_inline]] inline f32v floats_of_bytes(const E* p, Count... n) noexcept {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(p);
  if constexpr (std::is_same_v<E, std::int8_t>)
    return xsimd::to_float(load_int8(p, n...));
  else if constexpr (std::is_same_v<E, std::uint8_t>)
    return xsimd::to_float(load_uint8(p, n...));
  else
    return gather(float_of_byte<E>.data(), load_uint8(bytes, n...));
}

/// Some terms of some columns of B, whose rows are contiguous here.
template <class E>
struct terms_of_bytes {
  const E* data;
  std::int64_t row_stride, first, steps;  ///< the first term, and how many
};

/// Adds terms to Rows rows of Vectors registers of C, or to the first `lanes` columns of one register.
template <class E, int Rows, int Vectors>
[[gnu::always_inline]] inline void add_terms_of_bytes(const bytes_product<E>& p, const terms_of_bytes<E>& terms,
                                                      std::int64_t row, std::int64_t col,
                                                      std::int64_t lanes = width) noexcept {
  float* const c = p.c + row * p.n + col;
  const float* const a = p.a + row * p.k + terms.first;
  const E* b = terms.data;
  f32v sum[Rows][Vectors];  // C in registers: zeros before the first term, or what earlier terms have left in memory
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v)
      sum[r][v] = terms.first == 0 ? f32v(0.0f)
                  : lanes < width  ? load_partial(c + r * p.n, lanes)
                                   : load(c + r * p.n + v * width);
  for (std::int64_t i = 0; i < terms.steps; ++i, b += terms.row_stride) {
    f32v column[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v)
      column[v] = lanes < width ? floats_of_bytes(b, lanes) : floats_of_bytes(b + v * width);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const f32v factor(a[r * p.k + i]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[r][v] = fma(factor, column[v], sum[r][v]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v)
      if (lanes < width)
        store_partial(c + r * p.n, sum[r][v], lanes);
      else
        store(c + r * p.n + v * width, sum[r][v]);
}

/// Columns that share a cache line of B.
inline constexpr std::int64_t line_of_bytes = 64;

/// The same for Rows rows and the columns of a line, of which the last one may be cut.
template <class E, int Rows>
void add_terms_to_line(const bytes_product<E>& p, const terms_of_bytes<E>& terms, std::int64_t row, std::int64_t col,
                       std::int64_t cols) noexcept {
  // The fewer rows, the more columns at a time: so many sums hide the latency of fma, and fit the registers.
  constexpr int all = static_cast<int>(line_of_bytes / width), wanted = Rows == 1 ? 8 : Rows == 2 ? 4 : 2;
  constexpr int vectors = wanted < all ? wanted : all;
  terms_of_bytes<E> t = terms;
  std::int64_t j = 0;
  for (; j + vectors * width <= cols; j += vectors * width, t.data += vectors * width)
    add_terms_of_bytes<E, Rows, vectors>(p, t, row, col + j);
  for (; j < cols; j += width, t.data += width)
    add_terms_of_bytes<E, Rows, 1>(p, t, row, col + j, std::min(width, cols - j));
}

/// Copies `steps` terms of `cols` columns to rows of a line each. Columns that are contiguous are transposed as blocks of 8 x 8.
template <class E>
void turn_bytes(const E* from, std::int64_t row_stride, std::int64_t column_stride, std::int64_t steps,
                std::int64_t cols, E* to) noexcept {
  std::int64_t whole_cols = 0, whole_steps = 0;
#if defined(__x86_64__)
  if (row_stride == 1) whole_cols = cols / 8 * 8, whole_steps = steps / 8 * 8;
  for (std::int64_t j = 0; j < whole_cols; j += 8)
    for (std::int64_t i = 0; i < whole_steps; i += 8) {
      __m128i r[8];  // columns
      for (int c = 0; c < 8; ++c)
        r[c] = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i + (j + c) * column_stride));
      __m128i pair[4], four[4];
      for (int c = 0; c < 4; ++c) pair[c] = _mm_unpacklo_epi8(r[2 * c], r[2 * c + 1]);
      for (int c = 0; c < 2; ++c) {
        four[2 * c] = _mm_unpacklo_epi16(pair[2 * c], pair[2 * c + 1]);  // terms 0 to 3 of four columns
        four[2 * c + 1] = _mm_unpackhi_epi16(pair[2 * c], pair[2 * c + 1]);
      }
      for (int h = 0; h < 2; ++h) {
        const __m128i low = _mm_unpacklo_epi32(four[h], four[2 + h]), high = _mm_unpackhi_epi32(four[h], four[2 + h]);
        E* const rows = to + (i + 4 * h) * line_of_bytes + j;
        _mm_storel_epi64(reinterpret_cast<__m128i*>(rows), low);
        _mm_storel_epi64(reinterpret_cast<__m128i*>(rows + line_of_bytes), _mm_unpackhi_epi64(low, low));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(rows + 2 * line_of_bytes), high);
        _mm_storel_epi64(reinterpret_cast<__m128i*>(rows + 3 * line_of_bytes), _mm_unpackhi_epi64(high, high));
      }
    }
#endif
  for (std::int64_t i = 0; i < steps; ++i)
    for (std::int64_t j = i < whole_steps ? whole_cols : 0; j < cols; ++j)
      to[i * line_of_bytes + j] = from[i * row_stride + j * column_stride];
}

/// Calls f with the number of rows as a constant, for groups of at most six rows, whose sums fit the registers.
template <class F>
void for_groups_of_rows(std::int64_t m, F f) {
  constexpr std::int64_t most = 6;
  // Groups of equal height, since a last group of one row would read B for little work.
  const std::int64_t groups = (m + most - 1) / most, height = groups ? (m + groups - 1) / groups : 0;
  for (std::int64_t row = 0; row < m; row += height) {
    const std::int64_t rows = std::min(height, m - row);
    const auto call = [&]<int... Less>(std::integer_sequence<int, Less...>) {
      ((rows == Less + 1 ? f(std::integral_constant<int, Less + 1>{}, row) : void()), ...);
    };
    call(std::make_integer_sequence<int, most>{});
  }
}

/// Columns [col, col + cols) of C. Some terms at a time are summed for all of them, so that B is read in long runs of few rows.
template <class E>
void sum_stripe_of_bytes(const bytes_product<E>& p, std::int64_t col, std::int64_t cols) noexcept {
  constexpr std::int64_t burst = 32;
  alignas(64) E turned[burst * line_of_bytes];
  for (std::int64_t term = 0; term == 0 || term < p.k; term += burst)
    for (std::int64_t j = 0; j < cols; j += line_of_bytes) {
      const std::int64_t wide = std::min(line_of_bytes, cols - j), steps = std::min(burst, p.k - term);
      terms_of_bytes<E> terms{p.b + term * p.row_stride + (col + j) * p.column_stride, p.row_stride, term, steps};
      if (p.column_stride != 1) {  // vectors need the columns of a term side by side
        turn_bytes(terms.data, p.row_stride, p.column_stride, steps, wide, turned);
        terms.data = turned, terms.row_stride = line_of_bytes;
      }
      for_groups_of_rows(p.m, [&](auto rows, std::int64_t row) {
        add_terms_to_line<E, decltype(rows)::value>(p, terms, row, col + j, wide);
      });
    }
}

}  // namespace detail

/// Computes a product of at most most_rows_of_bytes rows. Stripes of columns are shared among the threads. How the terms of an
/// element are summed does not depend on the stripes, so neither do the bits.
template <class E>
void bytes_gemm(const bytes_product<E>& p) {
  const std::int64_t lines = (p.n + detail::line_of_bytes - 1) / detail::line_of_bytes;
  const std::int64_t share = (lines + num_threads() - 1) / num_threads();
  // At most 1024 columns, so that the sums of a stripe stay in the first-level cache between bursts of terms.
  const std::int64_t stripe = std::clamp<std::int64_t>(share, 1, 16) * detail::line_of_bytes;
  parallel_for((p.n + stripe - 1) / stripe,
               [&](std::int64_t i) { detail::sum_stripe_of_bytes(p, i * stripe, std::min(stripe, p.n - i * stripe)); });
}

}  // namespace tokamax::cpu_backend
