// tokamax/backend/cpu/kernels/attention/attention.hpp: attention and its gradients, on operands with any strides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/attention/attention.hpp>  // the blocked routines
#include <tokamax/backend/cpu/device.hpp>               // cpu_tag
#include <tokamax/backend/cpu/vector/floats.hpp>        // copied_floats
#include <tokamax/ops/attention.hpp>                    // attention_p

namespace tokamax {

template <>
inline constexpr bool takes_views<attention_p> = true;
template <>
inline constexpr bool takes_views<attention_vjp_p> = true;

namespace cpu_backend::detail {
// These functions turn kernel arguments into those of cpu_backend::attention.

/// An operand [batch, position, head, channel]. An axis of extent one has step 0, so that it is the same for all.
template <class T>
pairs_view<T> pairs_of(const array_view& v, const T* data, const shape& strides) noexcept {
  const auto step = [&](int i) { return v.extent(i) == 1 ? 0 : strides[i]; };
  return {data, step(0), step(1), step(2), step(3)};
}
/// The bias, ranges, segments and the mask are operands from `first` on.
inline attention_shape attention_shape_of(const kernel_arguments& a, int first) {
  const array_view &q = a.in[0], &k = a.in[1];
  const auto o = a.attrs<attention_attributes>();
  pairs_view<float> bias;
  pairs_view<bool> mask;
  if (o.has_bias) {
    const array_view& v = a.in[first];
    bias = pairs_of<float>(v, cpu_backend::dense_floats<struct attention_bias>(v), row_major(v.extents));
  }
  if (o.has_mask)
    mask = pairs_of<bool>(a.in[a.in_count - 1], a.in[a.in_count - 1].as<bool>(), a.in[a.in_count - 1].strides);
  const auto integers = [](const array_view& v) { return pairs_of<std::int32_t>(v, v.as<std::int32_t>(), v.strides); };
  pairs_view<std::int32_t> ranges, q_segments, k_segments;
  if (o.ranges > 0) ranges = integers(a.in[first + o.has_bias]);
  if (o.has_segments) {
    const int segments = first + o.has_bias + (o.ranges > 0);
    q_segments = integers(a.in[segments]), k_segments = integers(a.in[segments + 1]);
  }
  return {.batch = q.extent(0),
          .queries = q.extent(1),
          .keys = k.extent(1),
          .heads = q.extent(2),
          .kv_heads = k.extent(2),
          .head_size = q.extent(3),
          .scale = static_cast<float>(o.scale),
          .causal = o.causal,
          .left = o.left,
          .right = o.right,
          .soft_cap = static_cast<float>(o.soft_cap),
          .bias = bias,
          .mask = mask,
          .range_count = o.ranges,
          .ranges = ranges,
          .q_segments = q_segments,
          .k_segments = k_segments};
}
inline gemm_precision attention_precision(const kernel_arguments& a) noexcept {
  const dot_algorithm d = tokamax::detail::algorithm_of(a.in[0].type, a.attrs<attention_attributes>().algorithm);
  return d == dot_algorithm::bf16_bf16_f32 ? gemm_precision::bfloat16 : gemm_precision::f32;
}
inline heads_view<void> dense_heads(void* data, const array_view& v, bool bfloat16) noexcept {
  const shape s = row_major(v.extents);
  return {data, s[0], s[1], s[2], bfloat16};
}
inline heads_view<void> heads_of(const array_view& result) noexcept {
  return dense_heads(result.data, result, result.type == bf16);
}
/// An operand [B, T, N, H] without copying it, or a copy if its features are not contiguous.
template <class Tag>
heads_view<const void> heads_of(const array_view& v) {
  if (v.stride(3) == 1 || v.extent(3) == 1) return {v.data, v.stride(0), v.stride(1), v.stride(2), v.type == bf16};
  return dense_heads(const_cast<float*>(copied_floats<Tag>(v)), v, false);
}
}  // namespace cpu_backend::detail

/// {out, lse, correction} of attention on q [B, T, N, H] and k, v [B, S, K, H].
inline void kernel(op_c<attention_p>, cpu_tag, const kernel_arguments& a) {
  using namespace cpu_backend::detail;
  cpu_backend::attention(attention_shape_of(a, 3), heads_of<struct attention_q>(a.in[0]),
                         heads_of<struct attention_k>(a.in[1]), heads_of<struct attention_v>(a.in[2]),
                         heads_of(a.out[0]), {a.out[1].as<float>(), a.out[2].as<float>()}, attention_precision(a));
}

/// {dq, dk, dv, and dbias if wanted} from q, k, v, out, lse, correction and the cotangents of out and, if it is there, lse.
inline void kernel(op_c<attention_vjp_p>, cpu_tag, const kernel_arguments& a) {
  using namespace cpu_backend::detail;
  const auto o = a.attrs<attention_attributes>();
  cpu_backend::attention_more_cotangents more;
  if (o.has_lse_cotangent) more.dlse = cpu_backend::dense_floats<struct attention_ct_lse>(a.in[7]);
  if (o.bias_gradient) more.dbias = a.out[3].as<float>();
  cpu_backend::attention_backward(
      attention_shape_of(a, tokamax::detail::terms_of_vjp(o)), heads_of<struct attention_q>(a.in[0]),
      heads_of<struct attention_k>(a.in[1]), heads_of<struct attention_v>(a.in[2]),
      heads_of<struct attention_out>(a.in[3]), cpu_backend::dense_floats<struct attention_lse>(a.in[4]),
      cpu_backend::dense_floats<struct attention_correction>(a.in[5]), heads_of<struct attention_ct>(a.in[6]),
      heads_of(a.out[0]), heads_of(a.out[1]), heads_of(a.out[2]), attention_precision(a), more);
}

}  // namespace tokamax
