// tokamax/backend/cuda/text/loop.hpp: device text: the place of a thread in a fused loop, and its loads and stores.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// What printed loops call beside functions of numbers. A loop runs with one thread for each N elements that are neighbours
/// along the innermost axis, which N divides.
inline constexpr std::string_view loop = R"text(
enum step { none, unit, any };

// The record of a loop of S slots over R axes with C constants. For a slot that counts, the pointer is its first number.
template <int S, int R, int C>
struct loop_data {
  i64 threads;  // elements / N
  i64 extents[R];
  u64 pointers[S];
  i64 strides[S * R];  // of each slot in turn, in elements
  u64 constants[C ? C : 1];
};

template <int N, int S, int R, int C>
struct place {
  static constexpr int width = N;
  const loop_data<S, R, C>& d;
  i64 outer[R];  // the position on each axis but the innermost one
  i64 column;    // on the innermost one

  i64 offset(int slot) const {
    i64 at = 0;
#pragma unroll
    for (int a = 0; a + 1 < R; ++a) at += outer[a] * d.strides[slot * R + a];
    return at;
  }
  i64 stride(int slot) const { return d.strides[slot * R + R - 1]; }
};

// N elements in memory, read and written as a whole.
template <class T, int N>
struct alignas(sizeof(T) * N <= 16 ? sizeof(T) * N : 16) packed {
  T x[N];
};

template <class T, step Inner, int N, int S, int R, int C>
lanes<number<T>, N> load(const place<N, S, R, C>& at, int slot) {
  const T* const p = (const T*)at.d.pointers[slot] + at.offset(slot);
  lanes<number<T>, N> r;
  if constexpr (Inner == unit) {
    const packed<T, N> v = *(const packed<T, N>*)(p + at.column);
#pragma unroll
    for (int i = 0; i < N; ++i) r.x[i] = widen<T>(v.x[i]);
  } else if constexpr (Inner == none) {
    const number<T> v = widen<T>(*p);
#pragma unroll
    for (int i = 0; i < N; ++i) r.x[i] = v;
  } else {
    const i64 stride = at.stride(slot);
#pragma unroll
    for (int i = 0; i < N; ++i) r.x[i] = widen<T>(p[(at.column + i) * stride]);
  }
  return r;
}
// Elements of a slot that counts, which are not in memory.
template <class T, step Inner, int N, int S, int R, int C>
lanes<number<T>, N> count(const place<N, S, R, C>& at, int slot) {
  const i64 stride = Inner == none ? 0 : Inner == unit ? 1 : at.stride(slot);
  lanes<number<T>, N> r;
#pragma unroll
  for (int i = 0; i < N; ++i)
    r.x[i] = converted<T, i64>((i64)at.d.pointers[slot] + at.offset(slot) + (at.column + i) * stride);
  return r;
}
template <class T, int N, int S, int R, int C>
lanes<number<T>, N> constant(const place<N, S, R, C>& at, int k) {
  lanes<number<T>, N> r;
  const number<T> v = element_of<T>(at.d.constants[k]);
#pragma unroll
  for (int i = 0; i < N; ++i) r.x[i] = v;
  return r;
}
template <class T, int N, int S, int R, int C>
void store(const place<N, S, R, C>& at, int slot, const lanes<number<T>, N>& v) {
  packed<T, N> p;
#pragma unroll
  for (int i = 0; i < N; ++i) p.x[i] = narrow<T>(v.x[i]);
  *(packed<T, N>*)((T*)at.d.pointers[slot] + at.offset(slot) + at.column) = p;
}

// Calls f at the place of this thread.
template <int N, int S, int R, int C, class F>
void run_loop(const loop_data<S, R, C>& d, F f) {
  const i64 thread = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= d.threads) return;
  place<N, S, R, C> at{d};
  if constexpr (R == 1) {
    at.column = thread * N;
  } else if (d.threads < 4294967296ll) {  // division of 32 bits is much faster
    const u32 columns = (u32)(d.extents[R - 1] / N);
    u32 row = (u32)thread / columns;
    at.column = (i64)((u32)thread - row * columns) * N;
#pragma unroll
    for (int a = R - 2; a >= 0; --a) {
      const u32 n = (u32)d.extents[a], next = row / n;
      at.outer[a] = row - next * n;
      row = next;
    }
  } else {
    const i64 columns = d.extents[R - 1] / N;
    i64 row = thread / columns;
    at.column = (thread - row * columns) * N;
#pragma unroll
    for (int a = R - 2; a >= 0; --a) {
      at.outer[a] = row % d.extents[a];
      row /= d.extents[a];
    }
  }
  f(at);
}
)text";

}  // namespace tokamax::cuda_text
