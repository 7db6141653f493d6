// tokamax/backend/cpu/vector/rows.hpp: loops over the rows of a matrix and the vectors of a row, and folds along a row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/vector/lanes.hpp>     // lanes
#include <tokamax/backend/cpu/vector/narrow.hpp>    // load_bfloat16, store_bfloat16
#include <tokamax/backend/cpu/vector/prefetch.hpp>  // prefetch_to_read, address_behind
#include <tokamax/backend/cpu/vector/simd.hpp>      // f32v
#include <tokamax/backend/cpu/vector/threads.hpp>   // parallel_for
#include <tokamax/base/bfloat16.hpp>                // bfloat16
#include <tokamax/base/small_float.hpp>             // float16

#include <algorithm>  // min, max
#include <array>      // array
#include <cstdint>    // int64_t, uintptr_t
#include <limits>     // infinity

namespace tokamax::cpu_backend {

/// Access to a whole vector, or to the first n lanes of the last one of a row.
struct whole_vector {
  f32v operator()(const float* p, float = 0.0f) const noexcept { return load(p); }
  f32v operator()(const bfloat16* p, float = 0.0f) const noexcept {
    return load_bfloat16(reinterpret_cast<const std::uint16_t*>(p));
  }
  f32v operator()(const float16* p, float = 0.0f) const noexcept { return lanes<float16>::load(p); }
  void put(float* p, f32v v) const noexcept { store(p, v); }
  void put(bfloat16* p, f32v v) const noexcept { store_bfloat16(reinterpret_cast<std::uint16_t*>(p), v); }
  void put(float16* p, f32v v) const noexcept { lanes<float16>::store(p, v); }
  void keep(float* p, f32v v) const noexcept { store(p, v); }
};
/// Like whole_vector, for results that are too large for the caches: stores bypass them. Results begin at a multiple of 64
/// bytes.
struct streamed_vector : whole_vector {
  using whole_vector::put;
  void put(float* p, f32v v) const noexcept { stream(p, v); }
};
struct partial_vector {
  std::int64_t n;
  f32v operator()(const float* p, float padding = 0.0f) const noexcept { return load_partial(p, n, padding); }
  f32v operator()(const bfloat16* p, float padding = 0.0f) const noexcept {
    const f32v v = load_bfloat16_partial(reinterpret_cast<const std::uint16_t*>(p), n);
    return padding == 0.0f ? v : select(first_lanes(n), v, f32v(padding));
  }
  f32v operator()(const float16* p, float padding = 0.0f) const noexcept { return lanes<float16>::load(p, n, padding); }
  void put(float* p, f32v v) const noexcept { store_partial(p, v, n); }
  void put(bfloat16* p, f32v v) const noexcept { store_bfloat16_partial(reinterpret_cast<std::uint16_t*>(p), v, n); }
  void put(float16* p, f32v v) const noexcept { lanes<float16>::store(p, v, n); }
  void keep(float* p, f32v v) const noexcept { store_partial(p, v, n); }
};

/// Calls f(j, lanes) for each vector of a row, where j is its first column. lanes(p) loads, lanes.put(p, v) stores a
/// result, and lanes.keep(p, v) stores a value that is read again soon.
template <class Whole = whole_vector, class F>
[[gnu::always_inline]] inline void for_vectors(std::int64_t cols, F f) noexcept {
  std::int64_t j = 0;
  for (; j + width <= cols; j += width) f(j, Whole{});
  if (j < cols) f(j, partial_vector{cols - j});
}

/// Combines f(0), f(width) and so on over a row, and then the lanes by `fold`. There are four partial results, so that an
/// operation need not wait for the one before. f must return the identity in lanes behind the end of the row.
template <class F, class Combine, class Fold>
[[gnu::always_inline]] inline float reduce_row(std::int64_t cols, float identity, F f, Combine combine,
                                               Fold fold) noexcept {
  f32v s0(identity), s1(identity), s2(identity), s3(identity);
  std::int64_t j = 0;
  for (; j + 4 * width <= cols; j += 4 * width) {
    s0 = combine(s0, f(j, whole_vector{}));
    s1 = combine(s1, f(j + width, whole_vector{}));
    s2 = combine(s2, f(j + 2 * width, whole_vector{}));
    s3 = combine(s3, f(j + 3 * width, whole_vector{}));
  }
  for (; j + width <= cols; j += width) s0 = combine(s0, f(j, whole_vector{}));
  if (j < cols) s1 = combine(s1, f(j, partial_vector{cols - j}));
  return fold(combine(combine(s0, s1), combine(s2, s3)));
}

/// The sum over a row. f must return zero in lanes behind its end.
template <class F>
[[gnu::always_inline]] inline float sum_row(std::int64_t cols, F f) noexcept {
  return reduce_row(cols, 0.0f, f, [](f32v a, f32v b) { return a + b; }, [](f32v v) { return reduce_add(v); });
}

/// N sums over a row at once. f returns an array of N vectors, which are zero in lanes behind the end of the row.
template <std::size_t N, class F>
[[gnu::always_inline]] inline std::array<float, N> sums_row(std::int64_t cols, F f) noexcept {
  std::array<f32v, N> even, odd;
  even.fill(f32v(0.0f));
  odd.fill(f32v(0.0f));
  const auto add = [](std::array<f32v, N>& to, const std::array<f32v, N>& terms) {
    for (std::size_t k = 0; k < N; ++k) to[k] = to[k] + terms[k];
  };
  std::int64_t j = 0;
  for (; j + 2 * width <= cols; j += 2 * width) {
    add(even, f(j, whole_vector{}));
    add(odd, f(j + width, whole_vector{}));
  }
  if (j + width <= cols) {
    add(even, f(j, whole_vector{}));
    j += width;
  }
  if (j < cols) add(odd, f(j, partial_vector{cols - j}));
  std::array<float, N> sums;
  for (std::size_t k = 0; k < N; ++k) sums[k] = reduce_add(even[k] + odd[k]);
  return sums;
}

/// The maximum over a row. f must return -infinity in lanes behind its end. A NaN may be lost.
template <class F>
[[gnu::always_inline]] inline float max_row(std::int64_t cols, F f) noexcept {
  return reduce_row(
      cols, -std::numeric_limits<float>::infinity(), f, [](f32v a, f32v b) { return max(a, b); },
      [](f32v v) { return reduce_max(v); });
}

/// Columns that stay in the first-level cache while several loops go over them.
inline constexpr std::int64_t row_block = 2048;

/// Calls f(first, count) for the blocks of a row.
template <std::int64_t Block = row_block, class F>
[[gnu::always_inline]] inline void for_blocks(std::int64_t cols, F f) noexcept {
  for (std::int64_t first = 0; first < cols; first += Block) f(first, std::min(Block, cols - first));
}

/// Prefetches the memory one block behind p, in this row or the next ones, so that it is loaded while others are computed.
template <class T>
[[gnu::always_inline]] inline void fetch_ahead(const T* p) noexcept {
  prefetch_to_read(detail::address_behind(p, row_block * std::int64_t{sizeof(T)}));
}

/// Is a result too large to stay in the caches until it is read? A result that replaces an operand is not, because its
/// lines are in the caches already. Narrow results have no stores that bypass the caches.
template <class T, class... Operands>
bool passes_caches(std::int64_t rows, std::int64_t cols, const T* result, Operands... operand) noexcept {
  if (sizeof(T) < sizeof(float)) return false;
  constexpr std::int64_t large = std::int64_t{1} << 22;  // 16 MB
  return rows * cols >= large && cols % 16 == 0 && reinterpret_cast<std::uintptr_t>(result) % 64 == 0 &&
         ((result != operand) && ...);
}

/// The number of rows in one chunk of a loop over rows. It is enough work for a thread, and depends on the shape only.
constexpr std::int64_t rows_per_chunk(std::int64_t cols) noexcept {
  return std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, cols));
}

/// Calls f(row) for all rows, in parallel over chunks of rows.
template <class F>
void for_rows(std::int64_t rows, std::int64_t cols, F f) {
  const std::int64_t chunk = rows_per_chunk(cols);
  parallel_for((rows + chunk - 1) / chunk, [&](std::int64_t i) {
    const std::int64_t end = std::min(rows, (i + 1) * chunk);
    for (std::int64_t r = i * chunk; r < end; ++r) f(r);
  });
}

/// Calls f(first row, end, whole) for chunks of all rows. `whole` stores whole vectors of the result, past the caches if
/// `streamed`.
template <class F>
void for_written_chunks(std::int64_t rows, std::int64_t cols, bool streamed, F f) {
  const std::int64_t chunk = (streamed ? 8 : 1) * rows_per_chunk(cols);  // longer, as each stream ends with a fence
  parallel_for((rows + chunk - 1) / chunk, [&](std::int64_t i) {
    const std::int64_t first = i * chunk, end = std::min(rows, first + chunk);
    if (!streamed) return f(first, end, whole_vector{});
    f(first, end, streamed_vector{});
    finish_streams();
  });
}

/// The same for each row: f(row, whole).
template <class F>
void for_written_rows(std::int64_t rows, std::int64_t cols, bool streamed, F f) {
  for_written_chunks(rows, cols, streamed, [&](std::int64_t first, std::int64_t end, auto whole) {
    for (std::int64_t r = first; r < end; ++r) f(r, whole);
  });
}

}  // namespace tokamax::cpu_backend
