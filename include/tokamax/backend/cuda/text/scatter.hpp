// tokamax/backend/cuda/text/scatter.hpp: device text: sums of rows by index, after a sort that keeps the order of equal indices.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/scatter.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// Updates are sorted by row, one digit of 8 bits at a time from the lowest on. Then blocks add up pieces of the sorted list,
/// which has each row's updates side by side and in their order, and last the pieces of rows that lie in several of them. The
/// order of additions follows from the indices alone.
/// source  Satish, Harris and Garland 2009, "Designing efficient sorting algorithms for manycore GPUs"
inline constexpr std::string_view scatter = R"text(
struct alignas(16) update { i64 row, number; };

struct digit_data {
  i64 count, rows, shift, chunk, chunks;  // a block has a chunk of the list
  const void* from;
  update* to;   // [count]
  u32* counts;  // [chunks, 256]
};
// Entry i of a list: of indices, of which those outside of the table become the row behind it, or of updates.
template <class From> update update_at(const digit_data& d, i64 i) {
  if constexpr (same<From, update>) {
    return ((const update*)d.from)[i];
  } else {
    const i64 row = ((const From*)d.from)[i];
    return {row >= 0 && row < d.rows ? row : d.rows, i};
  }
}
inline u32 digit_of(const digit_data& d, const update& u) { return (u32)(u.row >> d.shift) & 255u; }

// How often a chunk has each digit. blockDim.x is 256 here and below.
template <class From>
void count_digits(const digit_data& d) {
  __shared__ u32 found[256];
  const i64 begin = (i64)blockIdx.x * d.chunk, end = begin + d.chunk < d.count ? begin + d.chunk : d.count;
  found[threadIdx.x] = 0;
  __syncthreads();
  for (i64 i = begin + threadIdx.x; i < end; i += 256) atomicAdd(&found[digit_of(d, update_at<From>(d, i))], 1u);
  __syncthreads();
  d.counts[(i64)blockIdx.x * 256 + threadIdx.x] = found[threadIdx.x];
}

// Moves the entries of a chunk behind all entries of smaller digits, and behind those of their digit in the chunks before.
template <class From>
void move_by_digit(const digit_data& d) {
  __shared__ u32 totals[256], places[8][256];  // of each digit, those of each warp
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  u32 before = 0, total = 0;
#pragma unroll 8
  for (i64 c = 0; c < d.chunks; ++c) {
    const u32 n = d.counts[c * 256 + threadIdx.x];
    if (c < (i64)blockIdx.x) before += n;
    total += n;
  }
  totals[threadIdx.x] = total;
  for (u32 far = 1; far < 256; far *= 2) {  // sums of all digits up to this one
    __syncthreads();
    const u32 more = threadIdx.x >= far ? totals[threadIdx.x - far] : 0;
    __syncthreads();
    totals[threadIdx.x] += more;
  }
  u32 next = totals[threadIdx.x] - total + before;  // the place of the next entry with this digit
  const i64 begin = (i64)blockIdx.x * d.chunk, end = begin + d.chunk < d.count ? begin + d.chunk : d.count;
  for (i64 first = begin; first < end; first += 256) {
    for (u32 w = 0; w < 8; ++w) places[w][threadIdx.x] = 0;
    __syncthreads();
    const bool is_there = first + threadIdx.x < end;
    const update u = is_there ? update_at<From>(d, first + threadIdx.x) : update{0, 0};
    const u32 digit = is_there ? digit_of(d, u) : 256u;
    const u32 alike = __match_any_sync(0xffffffffu, digit), lower = alike & ((1u << lane) - 1u);
    if (is_there && lower == 0) places[warp][digit] = __popc(alike);
    __syncthreads();
    for (u32 w = 0; w < 8; ++w) {
      const u32 n = places[w][threadIdx.x];
      places[w][threadIdx.x] = next;
      next += n;
    }
    __syncthreads();
    if (is_there) d.to[places[warp][digit] + __popc(lower)] = u;
    __syncthreads();
  }
}

struct scatter_data {
  i64 count, rows, columns;
  const update* sorted;  // [count]
  const void* updates;   // [count, columns]
  void* out;             // [rows, columns], to which the sums are added
  void* partial;         // [pieces, 2, columns]
};
constexpr i64 piece = 32;  // updates

// A thread has N neighbouring columns, and a block a piece.
template <class T, int N>
struct row_sum {
  typedef number<T> S;
  typedef side_by_side<T, N> packed;
  S x[N] = {};
  void add(const packed& v) {
#pragma unroll
    for (int k = 0; k < N; ++k) x[k] = op_add::apply(x[k], widen<T>(v.x[k]));
  }
  void add(const S* partial) {
#pragma unroll
    for (int k = 0; k < N; ++k) x[k] = op_add::apply(x[k], partial[k]);
  }
  void keep(S* partial) const {
#pragma unroll
    for (int k = 0; k < N; ++k) partial[k] = x[k];
  }
  void add_to(packed& place) const {
    packed v = place;
#pragma unroll
    for (int k = 0; k < N; ++k) v.x[k] = narrow<T>(op_add::apply(widen<T>(v.x[k]), x[k]));
    place = v;
  }
};

// Sums of the rows in a piece. Those of rows that begin in a piece before, or go on in the next one, become partial sums 0 and
// 1 of the piece.
template <class T, int N>
void add_pieces(const scatter_data& d) {
  typedef row_sum<T, N> sums;
  const i64 column = ((i64)blockIdx.y * blockDim.x + threadIdx.x) * N;
  if (column >= d.columns) return;
  const i64 begin = (i64)blockIdx.x * piece, end = begin + piece < d.count ? begin + piece : d.count;
  const i64 row_before = begin > 0 ? d.sorted[begin - 1].row : -1, row_behind = end < d.count ? d.sorted[end].row : -1;
  number<T>* const partial = (number<T>*)d.partial + (i64)blockIdx.x * 2 * d.columns + column;
  const auto finish = [&](i64 row, const sums& sum) {
    if (row >= d.rows) return;
    if (row == row_before) sum.keep(partial);
    else if (row == row_behind) sum.keep(partial + d.columns);
    else sum.add_to(*(typename sums::packed*)((T*)d.out + row * d.columns + column));
  };
  sums sum;
  i64 row = d.sorted[begin].row;
  constexpr int batch = 8;  // loads under way
  for (i64 i = begin; i < end; i += batch) {
    update u[batch];
    typename sums::packed v[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      u[k] = d.sorted[i + k < end ? i + k : end - 1];
      v[k] = *(const typename sums::packed*)((const T*)d.updates + u[k].number * d.columns + column);
    }
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (i + k >= end) continue;
      if (u[k].row != row) {
        finish(row, sum);
        row = u[k].row;
        sum = sums();
      }
      sum.add(v[k]);
    }
  }
  finish(row, sum);
}

// The sum of the row that begins in a piece and goes on in later ones.
template <class T, int N>
void join_pieces(const scatter_data& d) {
  typedef row_sum<T, N> sums;
  const i64 column = ((i64)blockIdx.y * blockDim.x + threadIdx.x) * N;
  const i64 begin = (i64)blockIdx.x * piece, end = begin + piece;
  if (column >= d.columns || end >= d.count) return;
  const i64 row = d.sorted[end].row;
  if (row >= d.rows || d.sorted[end - 1].row != row || (begin > 0 && d.sorted[begin - 1].row == row)) return;
  i64 last = end, behind = d.count;  // the row's updates end between them
  while (behind - last > 1) {
    const i64 middle = last + (behind - last) / 2;
    if (d.sorted[middle].row == row) last = middle;
    else behind = middle;
  }
  const i64 pieces = last / piece - (i64)blockIdx.x;  // that follow
  const number<T>* const partial = (const number<T>*)d.partial + (i64)blockIdx.x * 2 * d.columns + column;
  sums sum;
  sum.add(partial + d.columns);
#pragma unroll 8
  for (i64 k = 1; k <= pieces; ++k) sum.add(partial + k * 2 * d.columns);
  sum.add_to(*(typename sums::packed*)((T*)d.out + row * d.columns + column));
}
)text";

}  // namespace tokamax::cuda_text
