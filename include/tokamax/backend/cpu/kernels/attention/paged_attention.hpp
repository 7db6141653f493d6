// tokamax/backend/cpu/kernels/attention/paged_attention.hpp: attention to pages of a cache that is read where it lies.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/paged.cpp
#pragma once

#include <tokamax/backend/cpu/attention/paged.hpp>  // the routine
#include <tokamax/backend/cpu/device.hpp>           // cpu_tag
#include <tokamax/backend/cpu/vector/floats.hpp>    // dense_floats, float_result
#include <tokamax/ops/attention/paged.hpp>          // paged_attention_p

namespace tokamax {

namespace cpu_backend::detail {
struct paged_q;
struct paged_key_scales;
struct paged_value_scales;
struct paged_sinks;
struct paged_out;

/// Calls f with a null pointer to the C++ type of the elements of a cache.
template <class F>
void dispatch_cache(dtype t, F f) {
  dispatch(t, [&]<dtype E>() {
    if constexpr ((is_floating(E) && size_of(E) <= 4) || E == i8) f(static_cast<element_t<E>*>(nullptr));
  });
}
}  // namespace cpu_backend::detail

/// q [T, N, H] and the pages [P, page, K, H], [P, page, K, h] -> [T, N, h].
inline void kernel(op_c<paged_attention_p>, cpu_tag, const kernel_arguments& a) {
  using namespace cpu_backend::detail;
  const array_view &q = a.in[0], &k = a.in[1], &v = a.in[2];
  const auto o = a.attrs<paged_attention_attributes>();
  cpu_backend::paged_attention_shape s{.tokens = q.extent(0),
                                       .heads = q.extent(1),
                                       .kv_heads = k.extent(2),
                                       .head_size = q.extent(2),
                                       .value_size = a.out[0].extent(2),
                                       .pages = k.extent(0),
                                       .page_size = k.extent(1),
                                       .sequences = a.in[4].extent(0),
                                       .columns = a.in[4].extent(1),
                                       .scale = static_cast<float>(o.scale),
                                       .soft_cap = static_cast<float>(o.soft_cap),
                                       .window = o.window,
                                       .kv_lens = a.in[3].as<const std::int32_t>(),
                                       .page_indices = a.in[4].as<const std::int32_t>(),
                                       .cu_q_lens = a.in[5].as<const std::int32_t>(),
                                       .num_seqs = 0};
  s.num_seqs = std::clamp<std::int64_t>(a.in[6].as<const std::int32_t>()[0], 0, s.sequences);
  s.same_bits = o.same_bits;
  if (o.has_sinks) s.sinks = cpu_backend::dense_floats<paged_sinks>(a.in[a.in_count - 1]);
  // The rows of a page lie one behind the other: [page, position, head, channel].
  const auto pages = [&](const array_view& x) {
    const shape strides = row_major(x.extents);
    return cpu_backend::pages_view{x.data, strides[0], strides[1], strides[2]};
  };
  cpu_backend::pages_view keys = pages(k), values = pages(v);
  if (o.has_scales) {
    keys.scales = cpu_backend::dense_floats<paged_key_scales>(a.in[7]);
    values.scales = cpu_backend::dense_floats<paged_value_scales>(a.in[8]);
  }
  const cpu_backend::float_result<paged_out> out(a.out[0]);
  const float* const queries = cpu_backend::dense_floats<paged_q>(q);
  // Products of bfloat16 lose nothing of operands that are bfloat16.
  const bool halves = q.type == bf16 && k.type == bf16 && !o.has_scales;
  const auto precision = halves ? cpu_backend::gemm_precision::bfloat16 : cpu_backend::gemm_precision::f32;
  dispatch_cache(
      k.type, [&]<class T>(T*) { cpu_backend::paged_attention<T>(s, queries, keys, values, out.data(), precision); });
}

}  // namespace tokamax
