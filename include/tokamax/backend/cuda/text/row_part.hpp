// tokamax/backend/cuda/text/row_part.hpp: device text: rows that groups of threads keep in registers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// Group threads share a row, and each of them keeps up to V vectors of W neighbouring elements in registers, so that memory
/// is read once. Sums over a row are trees over the group.
inline constexpr std::string_view row_part = R"text(
#undef BOUNDS
#define BOUNDS __launch_bounds__(512)
template <class T, int N> struct alignas(sizeof(T) * N <= 16 ? sizeof(T) * N : 16) pack { T x[N]; };

// The sums over the threads of a group, a warp or a whole block, for each of them. Sums that follow each other take Turns 0
// and 1, so that one barrier for each is enough.
template <int Group, int Turn, int Count> void group_sums(f32 (&v)[Count]) {
#pragma unroll
  for (int far = 16; far > 0; far /= 2)
#pragma unroll
    for (int k = 0; k < Count; ++k) v[k] += __shfl_xor_sync(0xffffffffu, v[k], far);
  if constexpr (Group > 32) {
    __shared__ f32 partial[Count][Group / 32];
    if (threadIdx.x % 32 == 0)
      for (int k = 0; k < Count; ++k) partial[k][threadIdx.x / 32] = v[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      v[k] = partial[k][0];
      for (int w = 1; w < Group / 32; ++w) v[k] += partial[k][w];
    }
  }
}
// The largest number of the threads of a group, for each of them. NaN counts as nothing.
template <int Group> f32 group_max(f32 v) {
#pragma unroll
  for (int far = 16; far > 0; far /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, far));
  if constexpr (Group > 32) {
    __shared__ f32 partial[Group / 32];
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
    __syncthreads();
    v = partial[0];
    for (int w = 1; w < Group / 32; ++w) v = fmaxf(v, partial[w]);
  }
  return v;
}
// What belongs to this thread of a row, of which `first` is the first element of the thread.
template <class T, int Group, int W, int V> struct row_part {
  pack<T, W> kept[V];
  void read(const T* row, i64 columns) {
#pragma unroll
    for (int k = 0; k < V; ++k)
      if (const i64 c = column(k); c < columns) kept[k] = *(const pack<T, W>*)(row + c);
  }
  // Keeps the compiler from holding the wider numbers too, which take twice the registers of 16-bit elements.
  void stay_narrow() {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(pack<T, W>) % 4 == 0 && sizeof(T) < 4)
#pragma unroll
      for (int k = 0; k < V; ++k)
#pragma unroll
        for (int w = 0; w < (int)sizeof(pack<T, W>) / 4; ++w) asm volatile("" : "+r"(((u32*)kept[k].x)[w]));
#endif
  }
  static i64 column(int k) { return (threadIdx.x % Group + k * Group) * W; }
};
// Calls f(vector, column) for the vectors of this thread that lie in the row.
template <int Group, int W, int V, class F> void each_vector(i64 columns, F f) {
#pragma unroll
  for (int k = 0; k < V; ++k)
    if (const i64 c = row_part<u8, Group, W, V>::column(k); c < columns) f(k, c);
}
)text";

}  // namespace tokamax::cuda_text
