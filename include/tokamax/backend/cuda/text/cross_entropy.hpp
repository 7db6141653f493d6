// tokamax/backend/cuda/text/cross_entropy.hpp: device text: the loss of rows of logits, and its gradient.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// A block has a row of logits [rows, C] of dtype T, of which a thread reads W neighbouring elements at once.
inline constexpr std::string_view cross_entropy = R"text(
template <class T, int N> struct alignas(sizeof(T) * N) pack { T x[N]; };

// exp of a number up to about 0. 16-bit floats need fewer digits than f32.
template <class T> f32 fast_exp(f32 x) { return is_small_float<T> ? __expf(x) : expf(x); }

// The highest logit of some, and the sum of exp(logit - highest). NaN stays, and so does a row of -infinity.
struct normaliser { f32 high, sum; };
template <class T> normaliser joined(normaliser a, normaliser b) {
  const f32 high = a.high > b.high || a.high != a.high ? a.high : b.high;
  if (high == -float_of(0x7f800000u)) return {high, 0.0f};
  return {high, a.sum * fast_exp<T>(a.high - high) + b.sum * fast_exp<T>(b.high - high)};
}
struct cross_entropy_data {
  i64 columns;
  const void *logits, *labels;
  void *loss, *lse, *correction;
};
template <class T, int W>
void cross_entropy_forward(const cross_entropy_data& d) {
  const i64 row = blockIdx.x;
  const T* const x = (const T*)d.logits + row * d.columns;
  normaliser n{-float_of(0x7f800000u), 0.0f};
  for (i64 c = threadIdx.x * W; c < d.columns; c += blockDim.x * W) {
    const pack<T, W> v = *(const pack<T, W>*)(x + c);
    f32 high = n.high;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const f32 e = widen<T>(v.x[i]);
      high = e > high || e != e ? e : high;
    }
    if (high == -float_of(0x7f800000u)) continue;
    f32 sum = n.sum * fast_exp<T>(n.high - high);
#pragma unroll
    for (int i = 0; i < W; ++i) sum += fast_exp<T>(widen<T>(v.x[i]) - high);
    n = {high, sum};
  }
  for (int far = 16; far > 0; far /= 2)
    n = joined<T>(n, {__shfl_xor_sync(0xffffffffu, n.high, far), __shfl_xor_sync(0xffffffffu, n.sum, far)});
  __shared__ normaliser partial[32];
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = n;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (u32 w = 1; w < blockDim.x / 32; ++w) n = joined<T>(n, partial[w]);
  i64 label = ((const i32*)d.labels)[row];
  if (label < 0) label += d.columns;
  const f32 lse = logf(n.sum) + n.high, nan = float_of(0x7fc00000u);
  ((f32*)d.loss)[row] = lse - (label >= 0 && label < d.columns ? widen<T>(x[label]) : nan);
  ((f32*)d.lse)[row] = lse;
  ((f32*)d.correction)[row] = 1.0f;
}

// dlogits = exp(logits - lse) * ct_probabilities - one_hot(label) * ct_label
struct cross_entropy_backward_data {
  i64 columns;
  const void *logits, *labels, *lse, *ct_probabilities, *ct_label;
  void* out;
};
template <class T, int W>
void cross_entropy_backward(const cross_entropy_backward_data& d) {
  const i64 row = blockIdx.x;
  const T* const x = (const T*)d.logits + row * d.columns;
  T* const out = (T*)d.out + row * d.columns;
  const f32 lse = ((const f32*)d.lse)[row], p = ((const f32*)d.ct_probabilities)[row];
  const f32 at_label = ((const f32*)d.ct_label)[row];
  i64 label = ((const i32*)d.labels)[row];
  if (label < 0) label += d.columns;
  for (i64 c = threadIdx.x * W; c < d.columns; c += blockDim.x * W) {
    const pack<T, W> v = *(const pack<T, W>*)(x + c);
    pack<T, W> y;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const f32 e = fast_exp<T>(widen<T>(v.x[i]) - lse) * p;
      y.x[i] = narrow<T>(c + i == label ? e - at_label : e);
    }
    *(pack<T, W>*)(out + c) = y;
  }
}
)text";

}  // namespace tokamax::cuda_text
