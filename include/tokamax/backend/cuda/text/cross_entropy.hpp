// tokamax/backend/cuda/text/cross_entropy.hpp: device text: the loss of rows of logits, and its gradient.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// A block has a row of logits [rows, C] of dtype T, which it reads once. A thread reads several vectors of W elements before
/// it computes. Rows need not be aligned: the elements before the first whole vector and behind the last one are read singly.
inline constexpr std::string_view cross_entropy = R"text(
template <class T, int N> struct alignas(sizeof(T) * N) pack { T x[N]; };

// exp(x - shift) of a number up to about 0. 16-bit floats need fewer digits than f32.
constexpr f32 log2_e = 1.44269504f;
template <class T> f32 exp_shifted(f32 x, f32 shift) {
  return is_small_float<T> ? quick_exp2(fmaf(x, log2_e, -(shift * log2_e))) : expf(x - shift);
}

// Where the whole vectors of a row are.
template <class T, int W> struct row_split {
  i64 head, vectors, columns;
  row_split(const T* row, i64 n) : columns(n) {
    const i64 behind = (i64)((u64)row / sizeof(T) % W);
    head = behind ? W - behind : 0;
    if (head > n) head = n;
    vectors = (n - head) / W;
  }
  // The column of the single element number k; there are `singles` of them.
  i64 singles() const { return columns - vectors * W; }
  i64 single(i64 k) const { return k < head ? k : k + vectors * W; }
};

// The highest logit of some, and the sum of exp(logit - highest). A sum of NaN stays, and so does a row of -infinity.
struct normaliser { f32 high, sum; };
inline f32 lowest_f32() { return -float_of(0x7f800000u); }
inline f32 shift_of(f32 high) { return high == lowest_f32() ? 0.0f : high; }
template <class T> normaliser joined(normaliser a, normaliser b) {
  const f32 high = fmaxf(a.high, b.high), shift = shift_of(high);
  return {high, a.sum * exp_shifted<T>(a.high, shift) + b.sum * exp_shifted<T>(b.high, shift)};
}
template <class T> normaliser joined_by_warp(normaliser n) {
  for (int far = 16; far > 0; far /= 2)
    n = joined<T>(n, {__shfl_xor_sync(0xffffffffu, n.high, far), __shfl_xor_sync(0xffffffffu, n.sum, far)});
  return n;
}
struct cross_entropy_data {
  i64 columns;
  const void *logits, *labels;
  void *loss, *lse, *correction;
};
template <class T, int W>
void cross_entropy_forward(const cross_entropy_data& d) {
  constexpr int several = 4;
  const i64 row = blockIdx.x;
  const T* const x = (const T*)d.logits + row * d.columns;
  const row_split<T, W> split(x, d.columns);
  normaliser n{lowest_f32(), 0.0f};
  for (i64 k = threadIdx.x; k < split.singles(); k += blockDim.x)
    n = joined<T>(n, {(f32)widen<T>(x[split.single(k)]), 1.0f});
  const pack<T, W>* const packs = (const pack<T, W>*)(x + split.head);
  for (i64 k = threadIdx.x; k < split.vectors; k += several * blockDim.x) {
    pack<T, W> v[several];
#pragma unroll
    for (int j = 0; j < several; ++j) {
      if (const i64 at = k + j * (i64)blockDim.x; at < split.vectors) v[j] = packs[at];
      else
#pragma unroll
        for (int i = 0; i < W; ++i) v[j].x[i] = narrow<T>(lowest_f32());
    }
    f32 high = n.high, sum = 0.0f;
#pragma unroll
    for (int j = 0; j < several; ++j)
#pragma unroll
      for (int i = 0; i < W; ++i) high = fmaxf(high, widen<T>(v[j].x[i]));
    const f32 shift = shift_of(high);
#pragma unroll
    for (int j = 0; j < several; ++j)
#pragma unroll
      for (int i = 0; i < W; ++i) sum += exp_shifted<T>(widen<T>(v[j].x[i]), shift);
    n = {high, n.sum * exp_shifted<T>(n.high, shift) + sum};
  }
  n = joined_by_warp<T>(n);
  __shared__ normaliser partial[32];
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = n;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  n = joined_by_warp<T>(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : normaliser{lowest_f32(), 0.0f});
  if (threadIdx.x > 0) return;
  i64 label = ((const i32*)d.labels)[row];
  if (label < 0) label += d.columns;
  const f32 lse = logf(n.sum) + n.high, nan = float_of(0x7fc00000u);
  ((f32*)d.loss)[row] = lse - (label >= 0 && label < d.columns ? widen<T>(x[label]) : nan);
  ((f32*)d.lse)[row] = lse;
  ((f32*)d.correction)[row] = 1.0f;
}

// dlogits = exp(logits - lse) * ct_probabilities - one_hot(label) * ct_label, which may be written over the logits
struct cross_entropy_backward_data {
  i64 columns;
  const void *logits, *labels, *lse, *ct_probabilities, *ct_label;
  void* out;
};
template <class T, int W>
void cross_entropy_backward(const cross_entropy_backward_data& d) {
  constexpr int several = 4;
  const i64 row = blockIdx.x;
  const T* const x = (const T*)d.logits + row * d.columns;
  T* const out = (T*)d.out + row * d.columns;
  const row_split<T, W> split(x, d.columns);
  const f32 lse = ((const f32*)d.lse)[row], p = ((const f32*)d.ct_probabilities)[row];
  const f32 at_label = ((const f32*)d.ct_label)[row];
  i64 label = ((const i32*)d.labels)[row];
  if (label < 0) label += d.columns;
  for (i64 k = threadIdx.x; k < split.singles(); k += blockDim.x) {
    const i64 c = split.single(k);
    const f32 e = exp_shifted<T>(widen<T>(x[c]), lse) * p;
    out[c] = narrow<T>(c == label ? e - at_label : e);
  }
  const pack<T, W>* const from = (const pack<T, W>*)(x + split.head);
  pack<T, W>* const to = (pack<T, W>*)(out + split.head);
  for (i64 k = threadIdx.x; k < split.vectors; k += several * blockDim.x) {
    pack<T, W> v[several];
#pragma unroll
    for (int j = 0; j < several; ++j)
      if (const i64 at = k + j * (i64)blockDim.x; at < split.vectors) v[j] = from[at];
#pragma unroll
    for (int j = 0; j < several; ++j) {
      const i64 at = k + j * (i64)blockDim.x, hit = label - (split.head + at * W);
      if (at >= split.vectors) break;
      f32 y[W];
#pragma unroll
      for (int i = 0; i < W; ++i) y[i] = exp_shifted<T>(widen<T>(v[j].x[i]), lse) * p;
      if (hit >= 0 && hit < W) {
#pragma unroll
        for (int i = 0; i < W; ++i)
          if (i == hit) y[i] -= at_label;
      }
#pragma unroll
      for (int i = 0; i < W; ++i) v[j].x[i] = narrow<T>(y[i]);
      to[at] = v[j];
    }
  }
}
)text";

}  // namespace tokamax::cuda_text
