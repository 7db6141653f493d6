// tokamax/backend/cpu/loop/transposed_copy.hpp: copies of arrays whose innermost axis is another one than before.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/transposed_copy.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/runtime/kernel.hpp>      // loop_arguments

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/backend/cpu/vector/prefetch.hpp>  // prefetch_to_read
  #include <tokamax/backend/cpu/vector/simd.hpp>      // vector_t
  #include <tokamax/backend/cpu/vector/threads.hpp>   // parallel_for

  #include <algorithm>  // min, max
  #include <cstddef>    // byte, size_t
  #include <cstdint>    // int64_t
  #include <cstring>    // memcpy
  #include <utility>    // index_sequence
#endif

namespace tokamax::cpu_backend {

/// Runs a loop that only copies slot `from` to slot `to`, if elements that lie side by side in one of them do not in the other.
/// Returns false for any other loop, with nothing done. Elements are copied as bits.
bool copy_transposed(const loop_arguments& a, int from, int to);

#if defined(TOKAMAX_COMPILED_ONCE)
namespace detail {

/// The elements of T in a register of 16 bytes, and in a line of the caches.
template <class T>
inline constexpr std::int64_t transposed_tile = 16 / sizeof(T);
template <class T>
inline constexpr std::int64_t transposed_block = 64 / sizeof(T);

/// The low, or the high, halves of two registers, element by element in turns.
template <bool High, class V, std::size_t... I>
V in_turns(V a, V b, std::index_sequence<I...>) noexcept {
  constexpr std::size_t n = sizeof...(I), first = High ? n / 2 : 0;
  return __builtin_shufflevector(a, b, (first + I / 2 + (I % 2 ? n : 0))...);
}

/// out[i * out_row + j] = in[j * in_row + i] for a square that registers hold.
template <class T>
void transpose_tile(const T* in, std::int64_t in_row, T* out, std::int64_t out_row) noexcept {
  constexpr std::size_t n = transposed_tile<T>;
  using V = vector_t<T, n>;
  using indices = std::make_index_sequence<n>;
  V row[n], next[n];
  #pragma GCC unroll 16
  for (std::size_t j = 0; j < n; ++j) std::memcpy(&row[j], in + static_cast<std::int64_t>(j) * in_row, sizeof(V));
  // Each round deals out the rows of the upper and of the lower half in turns. After log2(n) rounds they are columns.
  #pragma GCC unroll 4
  for (std::size_t round = 1; round < n; round *= 2) {
  #pragma GCC unroll 16
    for (std::size_t k = 0; k < n / 2; ++k) {
      next[2 * k] = in_turns<false>(row[k], row[k + n / 2], indices{});
      next[2 * k + 1] = in_turns<true>(row[k], row[k + n / 2], indices{});
    }
  #pragma GCC unroll 16
    for (std::size_t k = 0; k < n; ++k) row[k] = next[k];
  }
  #pragma GCC unroll 16
  for (std::size_t i = 0; i < n; ++i) std::memcpy(out + static_cast<std::int64_t>(i) * out_row, &row[i], sizeof(V));
}

/// A matrix that is read by columns: element (i, j) lies at i + j * in_row, and goes to i * out_row + j.
template <class T>
struct transposed_matrix {
  const T* in;
  T* out;
  std::int64_t in_row, out_row, rows, columns;  // of the result

  void copy() const noexcept {
    constexpr std::int64_t block = transposed_block<T>;
    for (std::int64_t j = 0; j < columns; j += block)
      for (std::int64_t i = 0; i < rows; i += block) {
        if (i + block <= rows && j + block <= columns)
          copy_block(i, j);
        else
          copy_edge(i, j, std::min(rows, i + block), std::min(columns, j + block));
      }
  }

 private:
  /// A square whose rows and columns are lines of the caches. It goes through memory of its own, so that each line is read and
  /// written once: lines that lie a power of two apart would drive each other out of the first-level cache.
  void copy_block(std::int64_t i, std::int64_t j) const noexcept {
    constexpr std::int64_t block = transposed_block<T>, tile = transposed_tile<T>;
    alignas(64) T square[block * block];
    for (std::int64_t q = 0; q < block; q += tile) {
      const T* const from = in + (j + q) * in_row + i;
      for (std::int64_t k = 0; k < tile; ++k)
        prefetch_to_read(address_behind(from + k * in_row, block * static_cast<std::int64_t>(sizeof(T))));
      for (std::int64_t p = 0; p < block; p += tile) transpose_tile(from + p, in_row, square + p * block + q, block);
    }
    for (std::int64_t p = 0; p < block; ++p) std::memcpy(out + (i + p) * out_row + j, square + p * block, 64);
  }
  void copy_edge(std::int64_t i0, std::int64_t j0, std::int64_t i1, std::int64_t j1) const noexcept {
    for (std::int64_t i = i0; i < i1; ++i)
      for (std::int64_t j = j0; j < j1; ++j) out[i * out_row + j] = in[j * in_row + i];
  }
};

/// A copy as matrices: one for each place of the axes besides `row`, which is dense in the operand, and the last one.
template <class T>
void copy_matrices(const loop_arguments& a, int from, int to, int row) {
  const int last = a.rank - 1;
  const std::int64_t *in = a.strides + from * a.rank, *out = a.strides + to * a.rank;
  const std::int64_t rows = a.extents[row], columns = a.extents[last];
  std::int64_t others = 1;
  for (int i = 0; i < last; ++i)
    if (i != row) others *= a.extents[i];
  constexpr std::int64_t grain = 1 << 16, unit = 64;
  const std::int64_t high = std::min(rows, unit), wide = std::max(unit, grain / high / unit * unit);
  const std::int64_t down = (rows + high - 1) / high, across = (columns + wide - 1) / wide, parts = down * across;
  const std::int64_t together = std::max<std::int64_t>(1, grain / (high * std::min(wide, columns)));
  parallel_for((others * parts + together - 1) / together, [&](std::int64_t chunk) {
    for (std::int64_t t = chunk * together; t < std::min(others * parts, (chunk + 1) * together); ++t) {
      const std::int64_t i = t % parts / across * high, j = t % across * wide;
      std::int64_t at = i * in[row] + j * in[last], place = i * out[row] + j, rest = t / parts;
      for (int axis = last - 1; axis >= 0; --axis) {
        if (axis == row) continue;
        const std::int64_t k = rest % a.extents[axis];
        rest /= a.extents[axis];
        at += k * in[axis], place += k * out[axis];
      }
      transposed_matrix<T>{reinterpret_cast<const T*>(a.pointers[from]) + at,
                           reinterpret_cast<T*>(a.pointers[to]) + place,
                           in[last],
                           out[row],
                           std::min(high, rows - i),
                           std::min(wide, columns - j)}
          .copy();
    }
  });
}

}  // namespace detail

TOKAMAX_COMPILED_ONCE bool copy_transposed(const loop_arguments& a, int from, int to) {
  const int last = a.rank - 1;
  const std::int64_t *in = a.strides + from * a.rank, *out = a.strides + to * a.rank;
  if (a.count >= 0 || last < 1 || out[last] != 1 || in[last] == 0 || in[last] == 1) return false;
  int row = last;
  for (int i = 0; i < last; ++i) {
    if (a.extents[i] == 0) return false;
    if (in[i] == 1 && a.extents[i] > 1) row = i;
  }
  if (row == last || a.extents[last] < 2) return false;
  switch (a.element_bytes[from]) {
    case 1:
      return detail::copy_matrices<std::uint8_t>(a, from, to, row), true;
    case 2:
      return detail::copy_matrices<std::uint16_t>(a, from, to, row), true;
    case 4:
      return detail::copy_matrices<std::uint32_t>(a, from, to, row), true;
    case 8:
      return detail::copy_matrices<std::uint64_t>(a, from, to, row), true;
    default:
      return false;
  }
}
#endif

}  // namespace tokamax::cpu_backend
