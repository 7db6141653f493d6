// tokamax/backend/cpu/kernels/threefry.hpp: the hash of a counter, for one counter in each lane.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/vector/simd.hpp>     // u32v
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/random/threefry.hpp>             // threefry2x32_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>  // min

namespace tokamax {

namespace cpu_backend::detail {

// One round: an addition, a rotation by `Turn` bits, and an exclusive or.
template <int Turn, class V>
void threefry_round(V& x0, V& x1) noexcept {
  x0 = x0 + x1;
  x1 = ((x1 << Turn) | (x1 >> (32 - Turn))) ^ x0;
}

/// The 20 rounds of threefry2x32 on the words x0 and x1 under the key (k0, k1), which is added after every four rounds. V is
/// a built-in vector or one word.
template <class V>
void threefry_hash(std::uint32_t k0, std::uint32_t k1, V& x0, V& x1) noexcept {
  const std::uint32_t k2 = k0 ^ k1 ^ 0x1BD11BDAu;
  auto even = [&] {
    threefry_round<13>(x0, x1);
    threefry_round<15>(x0, x1);
    threefry_round<26>(x0, x1);
    threefry_round<6>(x0, x1);
  };
  auto odd = [&] {
    threefry_round<17>(x0, x1);
    threefry_round<29>(x0, x1);
    threefry_round<16>(x0, x1);
    threefry_round<24>(x0, x1);
  };
  x0 += k0, x1 += k1;
  even(), x0 += k1, x1 += k2 + 1u;
  odd(), x0 += k2, x1 += k0 + 2u;
  even(), x0 += k0, x1 += k1 + 3u;
  odd(), x0 += k1, x1 += k2 + 4u;
  even(), x0 += k2, x1 += k0 + 5u;
}

/// Writes the hashes of the counters [from, from + n) under one key to `out`: both words if `pairs`, else their exclusive or.
inline void threefry_run(const std::uint32_t* key, std::uint64_t from, std::int64_t n, bool pairs,
                         std::uint32_t* out) noexcept {
  constexpr std::int64_t group = 4;  // independent hashes at a time, because each hash is one chain of operations
  using V = native_t<u32v>;
  std::int64_t i = 0;
  // The fast path works on vectors of counters whose high words are equal.
  const bool low_only = (from >> 32) == ((from + static_cast<std::uint64_t>(n)) >> 32);
  if (!pairs && low_only) {
    const V lane = native(bitcast<u32v>(iota()));
    for (; i + group * width <= n; i += group * width) {
      V x0[group], x1[group];
      for (std::int64_t g = 0; g < group; ++g) {
        const std::uint64_t first = from + static_cast<std::uint64_t>(i + g * width);
        x0[g] = V{} + static_cast<std::uint32_t>(first >> 32);
        x1[g] = lane + static_cast<std::uint32_t>(first);
      }
      for (std::int64_t g = 0; g < group; ++g) threefry_hash(key[0], key[1], x0[g], x1[g]);
      for (std::int64_t g = 0; g < group; ++g) store(out + i + g * width, from_native<u32v>(x0[g] ^ x1[g]));
    }
  }
  for (; i < n; ++i) {
    const std::uint64_t counter = from + static_cast<std::uint64_t>(i);
    auto x0 = static_cast<std::uint32_t>(counter >> 32), x1 = static_cast<std::uint32_t>(counter);
    threefry_hash(key[0], key[1], x0, x1);
    if (pairs)
      out[2 * i] = x0, out[2 * i + 1] = x1;
    else
      out[i] = x0 ^ x1;
  }
}

}  // namespace cpu_backend::detail

/// Hashes a range of counters for each key. Keys, and parts of a long range, are shared among threads.
inline void kernel(op_c<threefry2x32_p>, cpu_tag, const kernel_arguments& a) {
  constexpr std::int64_t grain = 8192;
  const auto [extents, pairs] = a.attrs<threefry_options>();
  const std::int64_t keys = a.in[1].size(), per_hash = pairs ? 2 : 1;
  if (keys == 0 || a.out[0].size() == 0) return;
  const std::int64_t n = a.out[0].size() / keys / per_hash, chunks = (n + grain - 1) / grain;
  const auto *key = a.in[0].as<std::uint32_t>(), *first = a.in[1].as<std::uint32_t>();
  auto* out = a.out[0].as<std::uint32_t>();
  const bool both = pairs;
  cpu_backend::parallel_for(keys * chunks, [&](std::int64_t t) {
    const std::int64_t k = t / chunks, from = t % chunks * grain;
    cpu_backend::detail::threefry_run(key + 2 * k, first[k] + static_cast<std::uint64_t>(from),
                                      std::min(grain, n - from), both, out + (k * n + from) * per_hash);
  });
}

}  // namespace tokamax
