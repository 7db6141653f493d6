// tokamax/backend/cuda/text/softmax.hpp: device text: softmax over rows, and its gradient.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// Rows [rows, C] of dtype T, computed in f32, after text/row_part.hpp.
inline constexpr std::string_view softmax = R"text(
struct softmax_data {
  i64 rows, columns;
  const void *x, *ct;  // ct: of the gradient, where x is the result of softmax
  void* out;
};
// 16-bit floats need fewer digits of exp than f32.
template <class T> f32 exp_of(f32 x) { return is_small_float<T> ? quick_exp2(x * 1.44269504f) : expf(x); }

template <class T, int Group, int W, int V>
void softmax_forward(const softmax_data& d) {
  const i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / Group;
  if (row >= d.rows) return;
  row_part<T, Group, W, V> x;
  x.read((const T*)d.x + row * d.columns, d.columns);
  f32 high = -float_of(0x7f800000u);
  each_vector<Group, W, V>(d.columns, [&](int k, i64) {
#pragma unroll
    for (int i = 0; i < W; ++i) high = fmaxf(high, widen<T>(x.kept[k].x[i]));
  });
  high = group_max<Group>(high);
  x.stay_narrow();
  f32 sum[1] = {};
  each_vector<Group, W, V>(d.columns, [&](int k, i64) {
#pragma unroll
    for (int i = 0; i < W; ++i) sum[0] += exp_of<T>(widen<T>(x.kept[k].x[i]) - high);
  });
  group_sums<Group, 0>(sum);
  x.stay_narrow();
  const f32 factor = 1.0f / sum[0];
  T* const out = (T*)d.out + row * d.columns;
  each_vector<Group, W, V>(d.columns, [&](int k, i64 c) {
    pack<T, W> y;
#pragma unroll
    for (int i = 0; i < W; ++i) y.x[i] = narrow<T>(exp_of<T>(widen<T>(x.kept[k].x[i]) - high) * factor);
    *(pack<T, W>*)(out + c) = y;
  });
}

// dx = y * (ct - sum(ct * y))
template <class T, class U, int Group, int W, int V>
void softmax_backward(const softmax_data& d) {
  const i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / Group;
  if (row >= d.rows) return;
  row_part<T, Group, W, V> y;
  row_part<U, Group, W, V> ct;
  y.read((const T*)d.x + row * d.columns, d.columns);
  ct.read((const U*)d.ct + row * d.columns, d.columns);
  f32 sum[1] = {};
  each_vector<Group, W, V>(d.columns, [&](int k, i64) {
#pragma unroll
    for (int i = 0; i < W; ++i) sum[0] += widen<T>(y.kept[k].x[i]) * (f32)widen<U>(ct.kept[k].x[i]);
  });
  group_sums<Group, 0>(sum);
  y.stay_narrow(), ct.stay_narrow();
  T* const out = (T*)d.out + row * d.columns;
  each_vector<Group, W, V>(d.columns, [&](int k, i64 c) {
    pack<T, W> dx;
#pragma unroll
    for (int i = 0; i < W; ++i)
      dx.x[i] = narrow<T>(widen<T>(y.kept[k].x[i]) * ((f32)widen<U>(ct.kept[k].x[i]) - sum[0]));
    *(pack<T, W>*)(out + c) = dx;
  });
}
)text";

}  // namespace tokamax::cuda_text
