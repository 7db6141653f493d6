// tokamax/backend/cuda/text/index.hpp: device text: reads and writes at places that are values of the program.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// Rows by index, and boxes. Elements that are only moved are unsigned integers W of their size; an
/// index has the dtype Index, i32 or i64. Each start of a box has one of both.
inline constexpr std::string_view index = R"text(
struct gather_data {
  i64 count, columns, rows;  // words, of the result and of a row
  u64 outside;               // the element for an index outside of the table
  const void *table, *indices;
  void* out;  // [indices, columns]
};
struct alignas(16) wide_word { u64 low, high; };
// One thread for each word of the result, which is an element E or several of them.
template <class W, class E, class Index>
void gather(const gather_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d.count) return;
  // Division of 32 bits is much faster.
  const i64 at = d.count < 4294967296ll && d.columns < 4294967296ll ? (i64)((u32)i / (u32)d.columns) : i / d.columns;
  const i64 row = ((const Index*)d.indices)[at];
  W* const to = (W*)d.out + i;
  if (row >= 0 && row < d.rows) *to = ((const W*)d.table)[row * d.columns + (i - at * d.columns)];
  else
    for (int k = 0; k < (int)(sizeof(W) / sizeof(E)); ++k) ((E*)to)[k] = (E)d.outside;
}

// A box of an array, whose leading `batch` axes are those of the starts. `to_box` says which one is copied.
struct box_data {
  i64 count, rank, batch, to_box;
  i64 extents[16], box[16];  // of the array and of the box
  const void* starts[16];
  i64 wide[16];  // are the starts i64?
  void *array, *part;
};
template <class W>
void copy_box(const box_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d.count) return;
  i64 entry = 0, scale = 1, rest = i;
  for (i64 a = d.rank - 1; a >= 0; --a) {
    const i64 at = rest % d.box[a];
    rest /= d.box[a];
    if (a < d.batch) entry += at * scale, scale *= d.extents[a];
  }
  // The place in the array: starts are moved so that the box fits.
  i64 place = 0, stride = 1;
  rest = i;
  for (i64 a = d.rank - 1; a >= 0; --a) {
    const i64 at = rest % d.box[a];
    rest /= d.box[a];
    i64 start = 0;
    if (a >= d.batch) {
      const void* const starts = d.starts[a - d.batch];
      start = d.wide[a - d.batch] ? ((const i64*)starts)[entry] : ((const i32*)starts)[entry];
      if (start < 0) start += d.extents[a];
      const i64 last = d.extents[a] - d.box[a];
      start = start < 0 ? 0 : start > last ? last : start;
    }
    place += (start + at) * stride;
    stride *= d.extents[a];
  }
  if (d.to_box) ((W*)d.part)[i] = ((const W*)d.array)[place];
  else ((W*)d.array)[place] = ((const W*)d.part)[i];
}

// The places of numbers among those that are sorted, NaN last.
struct search_data {
  i64 count, size, first_step, right;  // of the numbers, and of the sorted ones
  const void *sorted, *numbers;
  void* places;
};
// One thread for each number, which asks as tokamax::search_sorted_p does: the last element stands for those behind it.
template <class T>
void search(const search_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d.count) return;
  const number<T> v = widen(((const T*)d.numbers)[i]);
  i64 low = 0;
  for (i64 step = d.first_step; step > 0; step /= 2) {
    const i64 place = low + step - 1 < d.size ? low + step - 1 : d.size - 1;
    const number<T> at = widen(((const T*)d.sorted)[place]);
    const bool before = v == v ? (d.right ? at <= v : at < v) : d.right || at == at;
    if (before) low += step;
  }
  ((i32*)d.places)[i] = (i32)(low < d.size ? low : d.size);
}
)text";

}  // namespace tokamax::cuda_text
