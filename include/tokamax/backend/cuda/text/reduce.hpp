// tokamax/backend/cuda/text/reduce.hpp: device text: sums, maxima and other reductions in a fixed order.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// Reductions of elements T to results Out, computed in number<Out>. The elements of a result are cut into chunks; a block
/// reduces one chunk of one result (`reduce_rows`), or of many neighbouring results (`reduce_lanes`; `reduce_columns` if several
/// axes are reduced). Threads combine their elements in a fixed order, and then with each other as a tree, so the bits depend
/// on extents only.
inline constexpr std::string_view reduce = R"text(
struct op_add {
  template <class T> static number<T> start() { return number<T>(0); }
  template <class S> static S apply(S a, S b) {
    if constexpr (is_float<S>) return a + b;
    else if constexpr (same<S, i32>) return (i32)((u32)a + (u32)b);
    else return (S)((u64)a + (u64)b);
  }
};
// The results of reducing nothing by max and by min: the ends of the range of dtype T.
template <class T> number<T> lowest() {
  if constexpr (is_float<number<T>>) return -(number<T>)float_of(0x7f800000u);
  else if constexpr (same<T, bool>) return false;
  else return (number<T>)range<T>::low;
}
template <class T> number<T> highest() {
  if constexpr (is_float<number<T>>) return (number<T>)float_of(0x7f800000u);
  else if constexpr (same<T, bool>) return true;
  else return (number<T>)range<T>::high;
}
struct op_max {
  template <class T> static number<T> start() { return lowest<T>(); }
  template <class S> static S apply(S a, S b) { return a > b || a != a ? a : b; }
};
struct op_min {
  template <class T> static number<T> start() { return highest<T>(); }
  template <class S> static S apply(S a, S b) { return a < b || a != a ? a : b; }
};

struct reduce_data {
  i64 results, length;  // elements of each result
  i64 chunks, chunk;    // of the elements of a result; one result of this kernel for each chunk
  i64 kept, reduced;    // numbers of axes
  i64 kept_extents[16], kept_strides[16], reduced_extents[16], reduced_strides[16];
  const void* in;
  void* out;  // [results, chunks]
};
// Where element i of some axes lies, in row-major order.
inline i64 offset_of(i64 i, i64 rank, const i64* extents, const i64* strides) {
  i64 at = 0;
  for (i64 a = rank - 1; a > 0; --a) {
    const i64 n = extents[a], next = i / n;
    at += (i - next * n) * strides[a];
    i = next;
  }
  return rank ? at + i * strides[0] : 0;
}

// What a thread has combined. Sums of floats keep what each addition rounds off, and add it at the end: elements that are
// a power of two apart may be alike, and then the errors of plain sums do not cancel.
// source  Neumaier 1974, with the error of an addition by Knuth's six operations
template <class Op, class Out>
struct combined {
  typedef number<Out> S;
  S value = Op::template start<Out>();
  void add(S x) { value = Op::apply(value, x); }
  S result() const { return value; }
};
template <class Out>
  requires is_float<number<Out>>
struct combined<op_add, Out> {
  typedef number<Out> S;
  S sum = S(0), rounded_off = S(0);
  void add(S x) {
    const S next = sum + x, added = next - sum;
    rounded_off += (sum - (next - added)) + (x - added);
    sum = next;
  }
  S result() const { return rounded_off == rounded_off ? sum + rounded_off : sum; }  // infinities leave NaN
};

// Combines elements begin, begin + step and so on of one result.
template <class Op, class T, class Out>
number<Out> reduce_some(const reduce_data& d, const T* in, i64 begin, i64 end, i64 step) {
  typedef number<Out> S;
  combined<Op, Out> all;
  if (d.reduced == 1) {
    const i64 stride = d.reduced_strides[0];
    for (i64 i = begin; i < end; i += step) all.add((S)widen<T>(in[i * stride]));
  } else {
    for (i64 i = begin; i < end; i += step)
      all.add((S)widen<T>(in[offset_of(i, d.reduced, d.reduced_extents, d.reduced_strides)]));
  }
  return all.result();
}

// The threads of a block share the chunk; warps combine by shuffles, and their results in shared memory.
template <class Op, class T, class Out>
void reduce_rows(const reduce_data& d) {
  typedef number<Out> S;
  __shared__ S partial[32];
  const i64 result = (i64)blockIdx.x / d.chunks, part = (i64)blockIdx.x - result * d.chunks;
  const T* const in = (const T*)d.in + offset_of(result, d.kept, d.kept_extents, d.kept_strides);
  const i64 begin = part * d.chunk, end = begin + d.chunk < d.length ? begin + d.chunk : d.length;
  S sum = reduce_some<Op, T, Out>(d, in, begin + threadIdx.x, end, blockDim.x);
  for (int far = 16; far > 0; far /= 2) sum = Op::apply(sum, (S)__shfl_xor_sync(0xffffffffu, sum, far));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (u32 w = 1; w < blockDim.x / 32; ++w) sum = Op::apply(sum, partial[w]);
    ((Out*)d.out)[blockIdx.x] = narrow<Out>(sum);
  }
}

// N elements in memory, read and written as a whole.
template <class T, int N> struct alignas(sizeof(T) * N) side_by_side { T x[N]; };

// Sums over rows [batches, length, columns], whose columns lie side by side. A thread has N columns, `across` threads of a
// block have neighbouring ones, and the others have other rows.
struct lanes_data {
  i64 vectors, across;  // threads that have all columns, and those of a block; blockDim.x is a multiple
  i64 length, row_stride, batch_stride, chunk;
  const void* in;
  void* out;  // [batches, chunks, columns]
};
// Combines `batch` rows at a time as a tree, whose loads are under way together.
template <bool All, class Op, class Out, class T, int N>
void reduce_batch(combined<Op, Out> (&sums)[N], const T* in, i64 row, i64 end, i64 step, i64 stride) {
  typedef number<Out> S;
  constexpr int batch = 8;
  side_by_side<T, N> v[batch];
#pragma unroll
  for (int b = 0; b < batch; ++b)
    if (All || row + b * step < end) v[b] = *(const side_by_side<T, N>*)(in + (row + b * step) * stride);
#pragma unroll
  for (int k = 0; k < N; ++k) {
    S x[batch];
#pragma unroll
    for (int b = 0; b < batch; ++b)
      x[b] = All || row + b * step < end ? (S)widen<T>(v[b].x[k]) : (S)Op::template start<Out>();
#pragma unroll
    for (int half = batch / 2; half > 0; half /= 2)
#pragma unroll
      for (int b = 0; b < half; ++b) x[b] = Op::apply(x[b], x[b + half]);
    sums[k].add(x[0]);
  }
}
// blockDim.x is 256.
template <class Op, class T, class Out, int N>
void reduce_lanes(const lanes_data& d) {
  typedef number<Out> S;
  __shared__ S partial[N][256];
  const i64 blocks = (d.vectors + d.across - 1) / d.across, batch = (i64)blockIdx.x / blocks;
  const i64 vector = ((i64)blockIdx.x - batch * blocks) * d.across + threadIdx.x % (u32)d.across;
  const i64 first = threadIdx.x / (u32)d.across, step = 256 / (u32)d.across;
  const i64 begin = blockIdx.y * d.chunk, end = begin + d.chunk < d.length ? begin + d.chunk : d.length;
  combined<Op, Out> sums[N];
  if (vector < d.vectors) {
    const T* const in = (const T*)d.in + batch * d.batch_stride + vector * N;
    i64 row = begin + first;
    for (; row + 7 * step < end; row += 8 * step) reduce_batch<true, Op, Out>(sums, in, row, end, step, d.row_stride);
    if (row < end) reduce_batch<false, Op, Out>(sums, in, row, end, step, d.row_stride);
  }
#pragma unroll
  for (int k = 0; k < N; ++k) partial[k][threadIdx.x] = sums[k].result();
  for (u32 half = 128; half >= (u32)d.across; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
#pragma unroll
    for (int k = 0; k < N; ++k) partial[k][threadIdx.x] = Op::apply(partial[k][threadIdx.x], partial[k][threadIdx.x + half]);
  }
  if (first > 0 || vector >= d.vectors) return;
  Out* const out = (Out*)d.out + ((batch * gridDim.y + blockIdx.y) * d.vectors + vector) * N;
#pragma unroll
  for (int k = 0; k < N; ++k) out[k] = narrow<Out>(partial[k][threadIdx.x]);
}

// blockDim.x is 256: 32 results beside each other, whose elements 8 threads share.
template <class Op, class T, class Out>
void reduce_columns(const reduce_data& d) {
  typedef number<Out> S;
  __shared__ S partial[8][33];
  const i64 column = threadIdx.x % 32, row = threadIdx.x / 32;
  const i64 result = (i64)blockIdx.x * 32 + column, part = blockIdx.y;
  const i64 begin = part * d.chunk, end = begin + d.chunk < d.length ? begin + d.chunk : d.length;
  if (result < d.results) {
    const T* const in = (const T*)d.in + offset_of(result, d.kept, d.kept_extents, d.kept_strides);
    partial[row][column] = reduce_some<Op, T, Out>(d, in, begin + row, end, 8);
  }
  __syncthreads();
  if (row > 0 || result >= d.results) return;
  S sum = partial[0][column];
  for (int r = 1; r < 8; ++r) sum = Op::apply(sum, partial[r][column]);
  ((Out*)d.out)[result * d.chunks + part] = narrow<Out>(sum);
}
)text";

}  // namespace tokamax::cuda_text
