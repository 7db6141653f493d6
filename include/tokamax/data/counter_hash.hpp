// tokamax/data/counter_hash.hpp: random bits as a pure function of a seed and a counter.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstdint>  // uint64_t

namespace tokamax::data {

namespace detail {

constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace detail

/// 64 random bits: number `counter` of the stream `seed`. There is no state, so any of them can be computed at any time.
/// source  Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators" (SplitMix64's output function)
constexpr std::uint64_t counter_hash(std::uint64_t seed, std::uint64_t counter) {
  return detail::scramble(detail::scramble(seed) ^ counter);
}

}  // namespace tokamax::data
