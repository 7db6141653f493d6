// tokamax/backend/cuda/text/norm.hpp: device text: layer_norm, rms_norm and their gradients.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// Rows x [rows, C] of dtype T with parameters [C] of dtype P, computed in f32, after text/row_part.hpp. Sums over rows go
/// through a number of chunks that depends on extents only, and so do the bits.
inline constexpr std::string_view norm = R"text(
struct norm_data {
  i64 rows, columns, epsilon;  // the bits of an f32
  const void *x, *scale, *offset;
  void* out;
};
template <class T, class P, int Group, int W, int V, bool Centred>
void norm_forward(const norm_data& d) {
  const i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / Group;
  if (row >= d.rows) return;
  row_part<T, Group, W, V> x;
  x.read((const T*)d.x + row * d.columns, d.columns);
  const f32 count = (f32)d.columns;
  f32 mean = 0.0f;
  if constexpr (Centred) {
    f32 sum[1] = {};
    each_vector<Group, W, V>(d.columns, [&](int k, i64) {
#pragma unroll
      for (int i = 0; i < W; ++i) sum[0] += widen<T>(x.kept[k].x[i]);
    });
    group_sums<Group, 0>(sum);
    x.stay_narrow();
    mean = sum[0] / count;
  }
  f32 moments[2] = {};  // sums of squares, and of the differences, whose mean is what rounding has taken from the mean
  each_vector<Group, W, V>(d.columns, [&](int k, i64) {
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const f32 far = widen<T>(x.kept[k].x[i]) - mean;
      moments[0] += far * far;
      if constexpr (Centred) moments[1] += far;
    }
  });
  group_sums<Group, 1>(moments);
  x.stay_narrow();
  const f32 rest = moments[1] / count;
  const f32 rstd = 1.0f / sqrtf((moments[0] - rest * moments[1]) / count + float_of((u32)d.epsilon));
  T* const out = (T*)d.out + row * d.columns;
  each_vector<Group, W, V>(d.columns, [&](int k, i64 c) {
    const pack<P, W> scale = *(const pack<P, W>*)((const P*)d.scale + c);
    pack<P, W> offset;
    if constexpr (Centred) offset = *(const pack<P, W>*)((const P*)d.offset + c);
    pack<T, W> y;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const f32 scaled = (widen<T>(x.kept[k].x[i]) - mean - rest) * rstd * (f32)widen<P>(scale.x[i]);
      y.x[i] = narrow<T>(Centred ? scaled + (f32)widen<P>(offset.x[i]) : scaled);
    }
    *(pack<T, W>*)(out + c) = y;
  });
}

// dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat)) with g = ct * scale; rms_norm has no mean(g). The groups of all blocks
// take turns at the rows. Meanwhile they sum up ct * x_hat and ct, and a block stores its sums. If there are registers for it,
// the next row is read before the present one is computed.
struct norm_backward_data {
  i64 rows, columns, epsilon;
  const void *x, *scale, *ct;
  void *dx, *partial;  // partial [blocks, 2, columns]
};
template <class T, class P, int Group, int W, int V, bool Centred>
struct norm_gradient {
  const norm_backward_data& d;
  f32 of_scale[V * W] = {}, of_offset[V * W] = {};

  // The row that x and ct hold.
  void add_row(i64 row, row_part<T, Group, W, V>& x, row_part<T, Group, W, V>& ct) {
    const P* const scale = (const P*)d.scale;
    const f32 count = (f32)d.columns;
    f32 means[2] = {};  // of x and of g
    if constexpr (Centred) {
      each_vector<Group, W, V>(d.columns, [&](int k, i64 c) {
        const pack<P, W> s = *(const pack<P, W>*)(scale + c);
#pragma unroll
        for (int i = 0; i < W; ++i) {
          means[0] += widen<T>(x.kept[k].x[i]);
          means[1] += widen<T>(ct.kept[k].x[i]) * (f32)widen<P>(s.x[i]);
        }
      });
      group_sums<Group, 0>(means);
      x.stay_narrow(), ct.stay_narrow();
      means[0] /= count, means[1] /= count;
    }
    f32 products[3] = {};  // of x less its mean with itself, with g and with 1
    each_vector<Group, W, V>(d.columns, [&](int k, i64 c) {
      const pack<P, W> s = *(const pack<P, W>*)(scale + c);
#pragma unroll
      for (int i = 0; i < W; ++i) {
        const f32 far = widen<T>(x.kept[k].x[i]) - means[0];
        products[0] += far * far;
        products[1] += far * (widen<T>(ct.kept[k].x[i]) * (f32)widen<P>(s.x[i]));
        if constexpr (Centred) products[2] += far;
      }
    });
    group_sums<Group, 1>(products);
    x.stay_narrow(), ct.stay_narrow();
    const f32 rest = products[2] / count;  // what rounding has taken from the mean
    const f32 rstd = 1.0f / sqrtf((products[0] - rest * products[2]) / count + float_of((u32)d.epsilon));
    const f32 lost = rest * means[1];
    const f32 along = (products[1] / count - (lost - lost == 0.0f ? lost : 0.0f)) * rstd;  // infinite cotangents stay so
    T* const dx = (T*)d.dx + row * d.columns;
    each_vector<Group, W, V>(d.columns, [&](int k, i64 c) {
      const pack<P, W> s = *(const pack<P, W>*)(scale + c);
      pack<T, W> y;
#pragma unroll
      for (int i = 0; i < W; ++i) {
        const f32 u = widen<T>(ct.kept[k].x[i]), x_hat = (widen<T>(x.kept[k].x[i]) - means[0] - rest) * rstd;
        y.x[i] = narrow<T>(rstd * (u * (f32)widen<P>(s.x[i]) - means[1] - x_hat * along));
        of_scale[k * W + i] += u * x_hat;
        of_offset[k * W + i] += u;
      }
      *(pack<T, W>*)(dx + c) = y;
    });
  }
  // The sums of the groups of this block, in their order.
  void store(const f32 (&sums)[V * W], f32* out) const {
    if constexpr (Group > 32) {
      each_vector<Group, W, V>(d.columns, [&](int k, i64 c) {
#pragma unroll
        for (int i = 0; i < W; ++i) out[c + i] = sums[k * W + i];
      });
    } else {
      __shared__ f32 shared[8][32 * W];
#pragma unroll
      for (int k = 0; k < V; ++k) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < W; ++i) shared[threadIdx.x / 32][threadIdx.x % 32 * W + i] = sums[k * W + i];
        __syncthreads();
        const i64 c = k * 32 * W + threadIdx.x;
        if (threadIdx.x >= 32 * W || c >= d.columns) continue;
        f32 sum = shared[0][threadIdx.x];
        for (int w = 1; w < 8; ++w) sum += shared[w][threadIdx.x];
        out[c] = sum;
      }
    }
  }
};
template <class T, class P, int Group, int W, int V, bool Centred>
void norm_backward(const norm_backward_data& d) {
  norm_gradient<T, P, Group, W, V, Centred> sums{d};
  const i64 groups = blockDim.x / Group, step = groups * gridDim.x;
  row_part<T, Group, W, V> x, ct;
  const auto read = [&](i64 row) {
    if (row >= d.rows) return;
    x.read((const T*)d.x + row * d.columns, d.columns);
    ct.read((const T*)d.ct + row * d.columns, d.columns);
  };
  constexpr bool reads_ahead = V * W * (2 + (int)sizeof(T)) <= 80;
  i64 row = blockIdx.x * groups + threadIdx.x / Group;
  if (reads_ahead) read(row);
  for (; row < d.rows; row += step) {
    if (!reads_ahead) read(row);
    row_part<T, Group, W, V> this_x = x, this_ct = ct;
    if (reads_ahead) read(row + step);
    sums.add_row(row, this_x, this_ct);
  }
  f32* const out = (f32*)d.partial + 2 * (i64)blockIdx.x * d.columns;
  sums.store(sums.of_scale, out);
  sums.store(sums.of_offset, out + d.columns);
}

// The sums over blocks: the gradients of scale (blockIdx.y is 0) and of offset. 16 threads share a column.
struct norm_parameters_data {
  i64 columns, chunks;
  const void* partial;
  void *scale, *offset;
};
template <class P>
void norm_parameters(const norm_parameters_data& d) {
  __shared__ f32 shared[16][33];
  const u32 lane = threadIdx.x % 32, part = threadIdx.x / 32;
  const i64 c = (i64)blockIdx.x * 32 + lane;
  f32 sum = 0.0f;
  if (c < d.columns) {
    const f32* const in = (const f32*)d.partial + blockIdx.y * d.columns + c;
#pragma unroll 4
    for (i64 k = part; k < d.chunks; k += 16) sum += in[2 * k * d.columns];
  }
  shared[part][lane] = sum;
  __syncthreads();
  if (part > 0 || c >= d.columns) return;
  for (int k = 1; k < 16; ++k) sum += shared[k][lane];
  ((P*)(blockIdx.y ? d.offset : d.scale))[c] = narrow<P>(sum);
}
)text";

}  // namespace tokamax::cuda_text
