// tokamax/backend/cpu/kernels/recurrence/gated_delta_rule.hpp: the gated delta rule, with states that are updated where they lie.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/gated_delta_rule/op.cpp
#pragma once

#include <tokamax/backend/cpu/attention/delta_rule.hpp>  // delta_rule
#include <tokamax/backend/cpu/device.hpp>                // cpu_tag
#include <tokamax/backend/cpu/vector/floats.hpp>         // dense_floats, float_result
#include <tokamax/ops/gated_delta_rule/op.hpp>           // gated_delta_rule_p

namespace tokamax {

/// q, k [T, H, D], v [T, N, E], g, beta [T, N] and states [S, N, D, E] -> states, out [T, N, E].
inline void kernel(op_c<gated_delta_rule_p>, cpu_tag, const kernel_arguments& a) {
  const array_view &q = a.in[0], &v = a.in[2], &state = a.in[5];
  const bool packed = a.in_count > 6;
  cpu_backend::delta_rule_shape s{.tokens = q.extent(0),
                                  .key_heads = q.extent(1),
                                  .heads = v.extent(1),
                                  .key_size = q.extent(2),
                                  .value_size = v.extent(2),
                                  .sequences = packed ? a.in[6].extent(0) : state.extent(0),
                                  .slot_count = state.extent(0),
                                  .scale = static_cast<float>(a.attrs<gated_delta_rule_attributes>().scale)};
  if (s.heads == 0) return;
  if (packed) {
    const auto numbers = [&](int i) { return a.in[i].as<const std::int32_t>(); };
    s.first = numbers(6), s.length = numbers(7), s.from = numbers(8), s.to = numbers(9);
  }
  const cpu_backend::float_result<struct delta_rule_out> out(a.out[1]);
  cpu_backend::delta_rule(
      s,
      {cpu_backend::dense_floats<struct delta_rule_q>(q), cpu_backend::dense_floats<struct delta_rule_k>(a.in[1]),
       cpu_backend::dense_floats<struct delta_rule_v>(v), a.in[3].as<const float>(), a.in[4].as<const float>(),
       out.data()},
      state.as<const float>(), a.out[0].as<float>());
}

}  // namespace tokamax
