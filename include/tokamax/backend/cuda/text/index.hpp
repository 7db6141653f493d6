// tokamax/backend/cuda/text/index.hpp: device text: reads and writes at places that are values of the program.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// Rows by index, sums of rows by index, and boxes. Elements that are only moved are unsigned integers W of their size; an
/// index has the dtype Index, i32 or i64. Each start of a box has one of both.
inline constexpr std::string_view index = R"text(
struct gather_data {
  i64 count, columns, rows;
  u64 outside;  // the element for an index outside of the table
  const void *table, *indices;
  void* out;  // [indices, columns]
};
// One thread for each element of the result.
template <class W, class Index>
void gather(const gather_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d.count) return;
  const i64 at = i / d.columns, row = ((const Index*)d.indices)[at];
  ((W*)d.out)[i] = row >= 0 && row < d.rows ? ((const W*)d.table)[row * d.columns + (i - at * d.columns)] : (W)d.outside;
}

// Each row of the result is the sum of a row of `onto`, if there is one, and its updates in their order. A block has a row: its
// threads find the updates of the row in batches, and each thread adds up some columns.
struct scatter_data {
  i64 columns, updates_count;
  const void *onto, *indices, *updates;
  void* out;
};
template <class T, class Index>
void scatter_add(const scatter_data& d) {
  typedef number<T> S;
  __shared__ i32 found[1024];  // numbers of updates of this row, in order
  __shared__ i32 counts[8];
  const i64 row = blockIdx.x, first = (i64)blockIdx.y * 1024;
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Index* const indices = (const Index*)d.indices;
  S sum[4];
  for (int k = 0; k < 4; ++k) {
    const i64 column = first + k * 256 + threadIdx.x;
    sum[k] = d.onto && column < d.columns ? widen<T>(((const T*)d.onto)[row * d.columns + column]) : S(0);
  }
  for (i64 from = 0; from < d.updates_count; from += 1024) {
    i32 total = 0;
    for (int part = 0; part < 4; ++part) {
      const i64 i = from + part * 256 + threadIdx.x;
      const bool hit = i < d.updates_count && (i64)indices[i] == row;
      const u32 votes = __ballot_sync(0xffffffffu, hit);
      if (lane == 0) counts[warp] = __popc(votes);
      __syncthreads();
      i32 before = total, all = 0;
      for (u32 w = 0; w < 8; ++w) {
        if (w < warp) before += counts[w];
        all += counts[w];
      }
      if (hit) found[before + __popc(votes & ((1u << lane) - 1u))] = (i32)i;
      total += all;
      __syncthreads();
    }
    for (i32 k = 0; k < total; ++k)
      for (int c = 0; c < 4; ++c) {
        const i64 column = first + c * 256 + threadIdx.x;
        if (column < d.columns) sum[c] = op_add::apply(sum[c], (S)widen<T>(((const T*)d.updates)[found[k] * d.columns + column]));
      }
    __syncthreads();
  }
  for (int c = 0; c < 4; ++c) {
    const i64 column = first + c * 256 + threadIdx.x;
    if (column < d.columns) ((T*)d.out)[row * d.columns + column] = narrow<T>(sum[c]);
  }
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
)text";

}  // namespace tokamax::cuda_text
