// tokamax/backend/cpu/kernels/pack_int4.hpp: bytes of two integers, packed and unpacked in one pass.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/lax/pack_int4.hpp>               // pack_int4_p, unpack_int4_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>  // min

namespace tokamax {

namespace cpu_backend::detail {
/// Calls f(first, count) for parts of n bytes.
template <class F>
void each_part(std::int64_t n, F f) {
  constexpr std::int64_t grain = 32768;
  parallel_for((n + grain - 1) / grain, [&](std::int64_t i) { f(i * grain, std::min(grain, n - i * grain)); });
}
}  // namespace cpu_backend::detail

/// Two integers of one byte each become one byte.
inline void kernel(op_c<pack_int4_p>, cpu_tag, const kernel_arguments& a) {
  const auto* const from = a.in[0].as<const std::byte>();
  auto* const to = a.out[0].as<std::byte>();
  cpu_backend::detail::each_part(
      a.out[0].size(), [=](std::int64_t first, std::int64_t n) { pack_nibbles(from + 2 * first, 2 * n, to + first); });
}

/// The opposite.
inline void kernel(op_c<unpack_int4_p>, cpu_tag, const kernel_arguments& a) {
  const auto* const from = a.in[0].as<const std::byte>();
  cpu_backend::detail::each_part(a.in[0].size(), [&](std::int64_t first, std::int64_t n) {
    if (a.out[0].type == i4)
      unpack_nibbles(from + first, 2 * n, a.out[0].as<int4>() + 2 * first);
    else
      unpack_nibbles(from + first, 2 * n, a.out[0].as<uint4>() + 2 * first);
  });
}

}  // namespace tokamax
