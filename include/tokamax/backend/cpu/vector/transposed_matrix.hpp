// tokamax/backend/cpu/vector/transposed_matrix.hpp: matrices that are transposed square by square, in registers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/transposed_copy.cpp
#pragma once

#include <tokamax/backend/cpu/vector/prefetch.hpp>  // prefetch_to_read
#include <tokamax/backend/cpu/vector/simd.hpp>      // vector_t

#include <algorithm>  // min
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <cstring>    // memcpy
#include <utility>    // index_sequence

namespace tokamax::cpu_backend::detail {

/// The elements of T in a register of 16 bytes, which every machine has.
template <class T>
inline constexpr std::size_t square_extent = 16 / sizeof(T);
template <class T>
using square_row = vector_t<T, square_extent<T>>;

/// The low, or the high, halves of two registers, element by element in turns.
template <bool High, class V, std::size_t... Index>
V in_turns(V a, V b, std::index_sequence<Index...>) noexcept {
  constexpr std::size_t n = sizeof...(Index), first = High ? n / 2 : 0;
  return __builtin_shufflevector(a, b, (first + Index / 2 + (Index % 2 ? n : 0))...);
}

/// Makes columns of the rows of a square. Each round deals out the rows of the upper and of the lower half in turns.
template <class T>
void rows_to_columns(square_row<T> (&row)[square_extent<T>]) noexcept {
  constexpr std::size_t n = square_extent<T>;
  using indices = std::make_index_sequence<n>;
  square_row<T> next[n];
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
}

/// The elements of T in a line of the caches.
template <class T>
inline constexpr std::int64_t transposed_block = 64 / sizeof(T);

/// out[i * out_row + j] = in[j * in_row + i] for a square that registers hold.
template <class T>
void transpose_tile(const T* in, std::int64_t in_row, T* out, std::int64_t out_row) noexcept {
  constexpr std::size_t n = square_extent<T>;
  square_row<T> row[n];
#pragma GCC unroll 16
  for (std::size_t j = 0; j < n; ++j) std::memcpy(&row[j], in + static_cast<std::int64_t>(j) * in_row, sizeof row[j]);
  rows_to_columns<T>(row);
#pragma GCC unroll 16
  for (std::size_t i = 0; i < n; ++i) std::memcpy(out + static_cast<std::int64_t>(i) * out_row, &row[i], sizeof row[i]);
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
    constexpr std::int64_t block = transposed_block<T>, tile = static_cast<std::int64_t>(square_extent<T>);
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

}  // namespace tokamax::cpu_backend::detail
