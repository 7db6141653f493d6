// tokamax/backend/cuda/text/products.hpp: device text: a plain matrix product, for what the libraries do not take.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// out[b, i, j] = sum over k of x[b, i, k] * y[b, k, j]. Operands have dtype T and any strides, the result is dense with dtype
/// Out, and the sums are carried in the dtype Sum. A thread computes one element; tiles of the operands lie in shared memory.
inline constexpr std::string_view products = R"text(
struct product_data {
  i64 m, n, k;
  i64 x_batch, x_row, x_column, y_batch, y_row, y_column;  // strides in elements
  const void* x;
  const void* y;
  void* out;
};
template <class T, class Out, class Sum>
void products(const product_data& d) {
  constexpr int tile = 16;
  typedef number<Sum> S;
  __shared__ S xs[tile][tile + 1], ys[tile][tile + 1];
  const i64 across = (d.n + tile - 1) / tile, tiles = (d.m + tile - 1) / tile * across;
  const i64 batch = blockIdx.x / tiles, at = blockIdx.x - batch * tiles;
  const i64 row0 = at / across * tile, column0 = at % across * tile;
  const int r = threadIdx.x / tile, c = threadIdx.x % tile;
  const T* const x = (const T*)d.x + batch * d.x_batch;
  const T* const y = (const T*)d.y + batch * d.y_batch;
  S sum = S(0);  // added up in the order of k
  for (i64 k0 = 0; k0 < d.k; k0 += tile) {
    xs[r][c] = row0 + r < d.m && k0 + c < d.k ? (S)widen<T>(x[(row0 + r) * d.x_row + (k0 + c) * d.x_column]) : S(0);
    ys[r][c] = k0 + r < d.k && column0 + c < d.n ? (S)widen<T>(y[(k0 + r) * d.y_row + (column0 + c) * d.y_column]) : S(0);
    __syncthreads();
    const int depth = d.k - k0 < tile ? (int)(d.k - k0) : tile;
    for (int k = 0; k < depth; ++k) {
      if constexpr (same<S, f32>) sum = fmaf(xs[r][k], ys[k][c], sum);
      else if constexpr (same<S, f64>) sum = fma(xs[r][k], ys[k][c], sum);
      else sum = (S)((u64)sum + (u64)xs[r][k] * (u64)ys[k][c]);
    }
    __syncthreads();
  }
  if (row0 + r < d.m && column0 + c < d.n)
    ((Out*)d.out)[(batch * d.m + row0 + r) * d.n + column0 + c] = narrow<Out>((number<Out>)sum);
}

// A product with what is added to it: an array of the same shape and one row for all rows, each if it is there.
struct terms_data {
  i64 count, columns;
  const void *sums, *all, *row;
  void* out;
};
template <class T>
void add_terms(const terms_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d.count) return;
  number<T> sum = ((const number<T>*)d.sums)[i];
  if (d.all) sum += widen<T>(((const T*)d.all)[i]);
  if (d.row) sum += widen<T>(((const T*)d.row)[i % d.columns]);
  ((T*)d.out)[i] = narrow<T>(sum);
}

// Do two arrays differ? Threads that find a difference write the same number.
struct compare_data {
  i64 count;
  const void *a, *b;
  i64* differs;
};
template <class W>
void compare_words(const compare_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < d.count && ((const W*)d.a)[i] != ((const W*)d.b)[i]) *d.differs = 1;
}
)text";

}  // namespace tokamax::cuda_text
