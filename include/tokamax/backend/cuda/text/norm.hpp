// tokamax/backend/cuda/text/norm.hpp: device text: layer_norm, rms_norm and their gradients.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// Rows x [rows, C] of dtype T with parameters [C] of dtype P, computed in f32. Group threads share a row and read W
/// neighbouring elements at once. A row is read three times, all but the first time from a near cache. Sums over a row are
/// trees over the group, and sums over rows go through a fixed number of chunks, so that the bits depend on extents only.
inline constexpr std::string_view norm = R"text(
template <class T, int N> struct alignas(sizeof(T) * N) pack { T x[N]; };

// The sum over the threads of a group, for each of them: a warp, or a whole block.
template <int Group> f32 group_sum(f32 v) {
  for (int far = 16; far > 0; far /= 2) v += __shfl_xor_sync(0xffffffffu, v, far);
  if constexpr (Group > 32) {
    __shared__ f32 partial[Group / 32];
    __syncthreads();
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
    __syncthreads();
    v = partial[0];
    for (int w = 1; w < Group / 32; ++w) v += partial[w];
  }
  return v;
}
// Calls f(column, element) for the elements of a row that belong to this thread.
template <class T, int Group, int W, class F> void each_of_row(const T* row, i64 columns, F f) {
  for (i64 c = (threadIdx.x % Group) * W; c < columns; c += Group * W) {
    const pack<T, W> v = *(const pack<T, W>*)(row + c);
#pragma unroll
    for (int i = 0; i < W; ++i) f(c + i, widen<T>(v.x[i]));
  }
}
struct moments { f32 mean, rstd; };
template <class T, int Group, int W, bool Centred> moments moments_of(const T* row, i64 columns, f32 epsilon) {
  moments m{0.0f, 0.0f};
  if constexpr (Centred) {
    each_of_row<T, Group, W>(row, columns, [&](i64, f32 x) { m.mean += x; });
    m.mean = group_sum<Group>(m.mean) / (f32)columns;
  }
  f32 squares = 0.0f;
  each_of_row<T, Group, W>(row, columns, [&](i64, f32 x) { squares += (x - m.mean) * (x - m.mean); });
  m.rstd = 1.0f / sqrtf(group_sum<Group>(squares) / (f32)columns + epsilon);
  return m;
}

struct norm_data {
  i64 rows, columns, epsilon;  // the bits of an f32
  const void *x, *scale, *offset;
  void* out;
};
template <class T, class P, int Group, int W, bool Centred>
void norm_forward(const norm_data& d) {
  const i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / Group;
  if (row >= d.rows) return;
  const T* const x = (const T*)d.x + row * d.columns;
  const moments m = moments_of<T, Group, W, Centred>(x, d.columns, float_of((u32)d.epsilon));
  T* const out = (T*)d.out + row * d.columns;
  const P *const scale = (const P*)d.scale, *const offset = (const P*)d.offset;
  for (i64 c = (threadIdx.x % Group) * W; c < d.columns; c += Group * W) {
    const pack<T, W> v = *(const pack<T, W>*)(x + c);
    pack<T, W> y;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const f32 scaled = (widen<T>(v.x[i]) - m.mean) * m.rstd * (f32)widen<P>(scale[c + i]);
      y.x[i] = narrow<T>(Centred ? scaled + (f32)widen<P>(offset[c + i]) : scaled);
    }
    *(pack<T, W>*)(out + c) = y;
  }
}

// dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat)) with g = ct * scale; rms_norm has no mean(g). The moments of each row
// are kept for the sums over rows.
struct norm_backward_data {
  i64 rows, columns, epsilon;
  const void *x, *scale, *ct;
  void *dx, *moments;  // [rows, 2]
};
template <class T, class P, int Group, int W, bool Centred>
void norm_backward(const norm_backward_data& d) {
  const i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / Group;
  if (row >= d.rows) return;
  const T *const x = (const T*)d.x + row * d.columns, *const ct = (const T*)d.ct + row * d.columns;
  const P* const scale = (const P*)d.scale;
  const moments m = moments_of<T, Group, W, Centred>(x, d.columns, float_of((u32)d.epsilon));
  f32 sum = 0.0f, with_x = 0.0f;
  for (i64 c = (threadIdx.x % Group) * W; c < d.columns; c += Group * W) {
    const pack<T, W> v = *(const pack<T, W>*)(x + c), u = *(const pack<T, W>*)(ct + c);
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const f32 g = widen<T>(u.x[i]) * (f32)widen<P>(scale[c + i]);
      if (Centred) sum += g;
      with_x += g * ((widen<T>(v.x[i]) - m.mean) * m.rstd);
    }
  }
  if constexpr (Centred) sum = group_sum<Group>(sum) / (f32)d.columns;
  with_x = group_sum<Group>(with_x) / (f32)d.columns;
  T* const dx = (T*)d.dx + row * d.columns;
  for (i64 c = (threadIdx.x % Group) * W; c < d.columns; c += Group * W) {
    const pack<T, W> v = *(const pack<T, W>*)(x + c), u = *(const pack<T, W>*)(ct + c);
    pack<T, W> y;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const f32 g = widen<T>(u.x[i]) * (f32)widen<P>(scale[c + i]);
      y.x[i] = narrow<T>(m.rstd * (g - sum - (widen<T>(v.x[i]) - m.mean) * m.rstd * with_x));
    }
    *(pack<T, W>*)(dx + c) = y;
  }
  if (threadIdx.x % Group == 0) ((moments*)d.moments)[row] = m;
}

// Partial sums over rows of ct * x_hat and of ct: a warp has W columns a thread, and the 8 warps of a block, blockIdx.y in
// all, take turns at the rows of its chunk.
struct norm_sums_data {
  i64 rows, columns, chunk;
  const void *x, *ct, *moments;
  void* partial;  // [chunks, 2, columns]
};
template <class T, int W>
void norm_sums(const norm_sums_data& d) {
  __shared__ f32 shared[8][32 * W];
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const i64 first = (i64)blockIdx.x * 32 * W, c = first + lane * W;
  const i64 begin = (i64)blockIdx.y * d.chunk, end = begin + d.chunk < d.rows ? begin + d.chunk : d.rows;
  f32 scale[W] = {}, offset[W] = {};
  if (c < d.columns)
    for (i64 r = begin + warp; r < end; r += 8) {
      const moments m = ((const moments*)d.moments)[r];
      const pack<T, W> v = *(const pack<T, W>*)((const T*)d.x + r * d.columns + c);
      const pack<T, W> u = *(const pack<T, W>*)((const T*)d.ct + r * d.columns + c);
#pragma unroll
      for (int i = 0; i < W; ++i) {
        const f32 g = widen<T>(u.x[i]);
        scale[i] += g * ((widen<T>(v.x[i]) - m.mean) * m.rstd);
        offset[i] += g;
      }
    }
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < W; ++i) shared[warp][lane * W + i] = which ? offset[i] : scale[i];
    __syncthreads();
    for (u32 k = threadIdx.x; k < 32 * W && first + k < d.columns; k += 256) {
      f32 sum = shared[0][k];
      for (int w = 1; w < 8; ++w) sum += shared[w][k];
      ((f32*)d.partial)[(2 * (i64)blockIdx.y + which) * d.columns + first + k] = sum;
    }
  }
}
// The sums over chunks, one thread a column: the gradients of scale and offset.
struct norm_parameters_data {
  i64 columns, chunks;
  const void* partial;
  void *scale, *offset;
};
template <class P>
void norm_parameters(const norm_parameters_data& d) {
  const i64 c = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= d.columns) return;
  f32 scale = 0.0f, offset = 0.0f;
  for (i64 k = 0; k < d.chunks; ++k) {
    scale += ((const f32*)d.partial)[2 * k * d.columns + c];
    offset += ((const f32*)d.partial)[(2 * k + 1) * d.columns + c];
  }
  ((P*)d.scale)[c] = narrow<P>(scale);
  if (d.offset) ((P*)d.offset)[c] = narrow<P>(offset);
}
)text";

}  // namespace tokamax::cuda_text
