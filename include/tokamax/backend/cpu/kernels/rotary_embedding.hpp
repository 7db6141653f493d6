// tokamax/backend/cpu/kernels/rotary_embedding.hpp: rotary_embedding, on heads and positions with any strides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>                    // cpu_tag
#include <tokamax/backend/cpu/reduce/plan.hpp>               // axis_groups
#include <tokamax/backend/cpu/row_ops/rotary_embedding.hpp>  // the routine
#include <tokamax/backend/cpu/vector/floats.hpp>             // copied_floats
#include <tokamax/ops/rotary_embedding.hpp>                  // rotary_embedding_p

namespace tokamax {

template <>
inline constexpr bool takes_views<rotary_embedding_p> = true;

namespace cpu_backend::detail {
template <class From, class To>
void rotate_heads(const kernel_arguments& a, const From* x, const shape& strides) {
  const array_view &positions = a.in[1], &y = a.out[0];
  const auto o = a.attrs<rotary_embedding_options>();
  axis_groups row, position;
  for (int i = y.rank() - 3, k = positions.rank() - 1; i >= 0; --i, --k) {
    row.add(y.extent(i), strides[i]);
    position.add(y.extent(i), k < 0 || positions.extent(k) == 1 ? 0 : positions.stride(k));
  }
  const rotary_rows of{row.total, y.extent(-2), y.extent(-1), o.base, o.interleaved, o.inverse};
  const auto* const at = positions.as<const std::int32_t>();
  rotary_embedding(
      of, [&](std::int64_t r) { return x + row.offset(r); }, strides[-2],
      [&](std::int64_t r) { return at[position.offset(r)]; }, y.as<To>());
}
}  // namespace cpu_backend::detail

/// Turns pairs of features of x [..., T, N, H] by angles that depend on the positions [..., T].
inline void kernel(op_c<rotary_embedding_p>, cpu_tag, const kernel_arguments& a) {
  using namespace cpu_backend::detail;
  const array_view& x = a.in[0];
  const bool together = x.stride(-1) == 1, narrow = x.type == bf16;
  const float* const copy = together ? nullptr : cpu_backend::copied_floats<struct rotary_embedding_x>(x);
  const shape dense = row_major(x.extents);
  if (!narrow)
    rotate_heads<float, float>(a, together ? x.as<const float>() : copy, together ? x.strides : dense);
  else if (together)
    rotate_heads<bfloat16, bfloat16>(a, x.as<const bfloat16>(), x.strides);
  else
    rotate_heads<float, bfloat16>(a, copy, dense);
}

}  // namespace tokamax
