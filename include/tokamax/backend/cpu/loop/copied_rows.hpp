// tokamax/backend/cpu/loop/copied_rows.hpp: rows of an array as tiles, in which they follow one another, and back.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/interpreted.cpp
#pragma once

#include <tokamax/backend/cpu/loop/tile.hpp>  // set_tile

#include <algorithm>  // copy_n, fill_n

namespace tokamax::cpu_backend::detail {

/// Rows of an array that are copied as they lie in memory, so elements have no type but a size.
struct strided_rows {
  std::byte* first;
  std::int64_t rows, columns, row_stride, column_stride;  // strides in elements
};
template <class Word>
void gather_rows(Word* to, const strided_rows& b) noexcept {
  const auto* from = reinterpret_cast<const Word*>(b.first);
  for (std::int64_t r = 0; r < b.rows; ++r, to += b.columns, from += b.row_stride)
    if (b.column_stride == 1)
      std::copy_n(from, b.columns, to);
    else if (b.column_stride == 0)
      std::fill_n(to, b.columns, *from);
    else
      for (std::int64_t j = 0; j < b.columns; ++j) to[j] = from[j * b.column_stride];
}
template <class Word>
void scatter_rows(const Word* from, const strided_rows& b) noexcept {
  auto* to = reinterpret_cast<Word*>(b.first);
  for (std::int64_t r = 0; r < b.rows; ++r, from += b.columns, to += b.row_stride) std::copy_n(from, b.columns, to);
}
/// Calls f with a word that has so many bytes.
template <class F>
void with_word_of(std::int64_t bytes, F f) noexcept {
  if (bytes == 1)
    f(std::uint8_t{});
  else if (bytes == 2)
    f(std::uint16_t{});
  else if (bytes == 4)
    f(std::uint32_t{});
  else
    f(std::uint64_t{});
}
inline void read_rows(std::byte* to, std::int64_t bytes, const strided_rows& b) noexcept {
  with_word_of(bytes, [&]<class Word>(Word) { gather_rows(reinterpret_cast<Word*>(to), b); });
}
inline void write_rows(const std::byte* from, std::int64_t bytes, const strided_rows& b) noexcept {
  with_word_of(bytes, [&]<class Word>(Word) { scatter_rows(reinterpret_cast<const Word*>(from), b); });
}

/// first, first + step, ... as a row of a tile.
template <dtype T>
void count_row(std::byte* to, std::int64_t first, std::int64_t step, std::int64_t columns) noexcept {
  if constexpr (is_pack<register_t<T>>) {
    each_vector(columns, [&](std::int64_t at) { set_tile<T>(to, at, count_from<T>(first + at * step, step)); });
  } else {
    i32v now = counts(first, step);
    const i32v next(static_cast<std::int32_t>(step * width));
    each_vector(columns, [&](std::int64_t at) {
      set_tile<T>(to, at, from_counts<T>(now));
      now = now + next;
    });
  }
}

}  // namespace tokamax::cpu_backend::detail
