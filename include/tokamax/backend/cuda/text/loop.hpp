// tokamax/backend/cuda/text/loop.hpp: device text: the place of a thread in a fused loop, and its loads and stores.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// What printed loops call beside functions of numbers. A vector is N elements that are neighbours along the innermost axis,
/// which N divides. A thread computes U vectors, as many apart as the block has threads, so that a warp reads whole lines
/// and several reads are under way. Index is i32 where all vectors and all offsets fit into 31 bits, and i64 elsewhere.
inline constexpr std::string_view loop = R"text(
enum step { none, unit, any };

// The record of a loop of S slots over R axes with C constants. For a slot that counts, the pointer is its first number.
template <int S, int R, int C>
struct loop_data {
  i64 vectors;
  i64 extents[R];   // the last one in vectors
  u64 divisors[R];  // of the extents, see `divided`
  u64 pointers[S ? S : 1];
  i64 strides[S ? S * R : 1];  // of each slot in turn, in elements
  u64 constants[C ? C : 1];
};

// n / d for n below 2^31, with the magic number of d from the host: s = ceil(log2(d)) in the high half, and
// floor(2^32 (2^s - d) / d) + 1 in the low one.
// source  Granlund and Montgomery 1994, figure 4.1
inline u32 divided(u32 n, u64 magic) { return ((u32)((u64)n * (u32)magic >> 32) + n) >> (u32)(magic >> 32); }

// Where the vectors of a thread are. Behind the end of the loop are copies of its last vector, which are not stored.
template <class Index, int N, int U, int S, int R, int C>
struct place {
  const loop_data<S, R, C>& d;
  Index outer[U][R];  // the position on each axis but the innermost one
  Index column[U];    // on the innermost one
  bool inside[U];

  Index offset(int slot, int u) const {
    Index at = 0;
#pragma unroll
    for (int a = 0; a + 1 < R; ++a) at += outer[u][a] * (Index)d.strides[slot * R + a];
    return at;
  }
  Index stride(int slot) const { return (Index)d.strides[slot * R + R - 1]; }

  void find(int u, i64 vector) {
    inside[u] = vector < d.vectors;
    if (!inside[u]) vector = d.vectors - 1;
    if constexpr (R == 1) {
      column[u] = (Index)vector * N;
    } else {
      Index row = (Index)vector;
#pragma unroll
      for (int a = R - 1; a >= 0; --a) {
        const Index next = a == 0 ? 0 : sizeof(Index) == 4 ? (Index)divided((u32)row, d.divisors[a]) : row / d.extents[a];
        outer[u][a] = row - next * (Index)d.extents[a];
        row = next;
      }
      column[u] = outer[u][R - 1] * N;
    }
  }
};

// N elements in memory, read and written as a whole.
template <class T, int N>
struct alignas(sizeof(T) * N <= 16 ? sizeof(T) * N : 16) packed {
  T x[N];
};

template <class T, step Inner, class Index, int N, int U, int S, int R, int C>
lanes<number<T>, N * U> load(const place<Index, N, U, S, R, C>& at, int slot) {
  lanes<number<T>, N * U> r;
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const T* const p = (const T*)at.d.pointers[slot] + at.offset(slot, u);
    if constexpr (Inner == unit && same<T, bf16> && N > 1) {  // an instruction for each of the two in a word
      const packed<u32, N / 2> v = *(const packed<u32, N / 2>*)(p + at.column[u]);
#pragma unroll
      for (int i = 0; i < N; i += 2) {
        r.x[u * N + i] = float_of(v.x[i / 2] << 16);
        r.x[u * N + i + 1] = float_of(v.x[i / 2] & 0xffff0000u);
      }
    } else if constexpr (Inner == unit) {
      const packed<T, N> v = *(const packed<T, N>*)(p + at.column[u]);
#pragma unroll
      for (int i = 0; i < N; ++i) r.x[u * N + i] = widen<T>(v.x[i]);
    } else if constexpr (Inner == none) {
      const number<T> v = widen<T>(*p);
#pragma unroll
      for (int i = 0; i < N; ++i) r.x[u * N + i] = v;
    } else {
      const Index stride = at.stride(slot);
#pragma unroll
      for (int i = 0; i < N; ++i) r.x[u * N + i] = widen<T>(p[(at.column[u] + i) * stride]);
    }
  }
  return r;
}
// Elements of a slot that counts, which are not in memory.
template <class T, step Inner, class Index, int N, int U, int S, int R, int C>
lanes<number<T>, N * U> count(const place<Index, N, U, S, R, C>& at, int slot) {
  const i64 stride = Inner == none ? 0 : Inner == unit ? 1 : at.stride(slot);
  lanes<number<T>, N * U> r;
#pragma unroll
  for (int u = 0; u < U; ++u)
#pragma unroll
    for (int i = 0; i < N; ++i)
      r.x[u * N + i] = converted<T, i64>((i64)at.d.pointers[slot] + at.offset(slot, u) + (at.column[u] + i) * stride);
  return r;
}
template <class T, class Index, int N, int U, int S, int R, int C>
lanes<number<T>, N * U> constant(const place<Index, N, U, S, R, C>& at, int k) {
  lanes<number<T>, N * U> r;
  const number<T> v = element_of<T>(at.d.constants[k]);
#pragma unroll
  for (int i = 0; i < N * U; ++i) r.x[i] = v;
  return r;
}
// The numbers of dtype T are of that dtype already, so those of bf16 only lose zeros.
template <class T, class Index, int N, int U, int S, int R, int C>
void store(const place<Index, N, U, S, R, C>& at, int slot, const lanes<number<T>, N * U>& v) {
#pragma unroll
  for (int u = 0; u < U; ++u) {
    T* const to = (T*)at.d.pointers[slot] + at.offset(slot, u) + at.column[u];
    if constexpr (same<T, bf16> && N > 1) {
      packed<u32, N / 2> p;
#pragma unroll
      for (int i = 0; i < N; i += 2) p.x[i / 2] = bits(v.x[u * N + i]) >> 16 | (bits(v.x[u * N + i + 1]) & 0xffff0000u);
      if (at.inside[u]) *(packed<u32, N / 2>*)to = p;
    } else {
      packed<T, N> p;
#pragma unroll
      for (int i = 0; i < N; ++i) p.x[i] = narrow<T>(v.x[u * N + i]);
      if (at.inside[u]) *(packed<T, N>*)to = p;
    }
  }
}

// Calls f at the place of this thread of block number `block`.
template <class Index, int N, int U, int S, int R, int C, class F>
void run_loop(const loop_data<S, R, C>& d, i64 block, F f) {
  const i64 first = block * (U * (i64)blockDim.x) + threadIdx.x;
  if (first >= d.vectors) return;
  place<Index, N, U, S, R, C> at{d};
#pragma unroll
  for (int u = 0; u < U; ++u) at.find(u, first + u * (i64)blockDim.x);
  f(at);
}

// Several loops that run at the same time. The blocks from first_blocks[m] on are those of member m.
template <class Loop, int M>
struct loop_group {
  i64 first_blocks[M];
  Loop members[M];
};
template <class Index, int N, int U, class Loop, int M, class F>
void run_group(const loop_group<Loop, M>& d, F f) {
  int m = 0;
#pragma unroll 1
  for (int end = M; end - m > 1;) {
    const int middle = (m + end) / 2;
    if (d.first_blocks[middle] <= (i64)blockIdx.x) m = middle;
    else end = middle;
  }
  run_loop<Index, N, U>(d.members[m], blockIdx.x - d.first_blocks[m], f);
}
)text";

}  // namespace tokamax::cuda_text
