// tokamax/backend/cpu/vector/network.hpp: sorts as many lines as there are lanes at once, by a network of comparisons.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/sort.cpp
#pragma once

#include <tokamax/backend/cpu/vector/simd.hpp>  // i32v

#include <cstdint>  // int64_t

namespace tokamax::cpu_backend::sorting {

namespace detail {
[[gnu::always_inline]] inline void order(i32v& a, i32v& b) noexcept {
  const i32v low = min(a, b);
  b = max(a, b), a = low;
}
/// Compares elements at a distance of half of N, and then each half in the same way.
template <int N>
[[gnu::always_inline]] inline void halve(i32v* x) noexcept {
#pragma GCC unroll 8
  for (int i = 0; i < N / 2; ++i) order(x[i], x[i + N / 2]);
  if constexpr (N > 2) halve<N / 2>(x), halve<N / 2>(x + N / 2);
}
/// Merges two sorted halves, but for distances below N / 8 of what the elements stand for: compares each element with the one
/// that is as far from the other end.
template <int N>
[[gnu::always_inline]] inline void merge(i32v* x) noexcept {
#pragma GCC unroll 8
  for (int i = 0; i < N / 2; ++i) order(x[i], x[N - 1 - i]);
  if constexpr (N > 2) halve<N / 2>(x), halve<N / 2>(x + N / 2);
}

/// Compares elements of [n, lanes] at the distances `far`, and half and a quarter of that, as the logarithm of N says.
template <int N>
void halve_all(std::int32_t* x, std::int64_t n, std::int64_t far) noexcept {
  const std::int64_t near = far * 2 / N;
  for (std::int64_t block = 0; block < n; block += 2 * far)
    for (std::int64_t i = block; i < block + near; ++i) {
      i32v v[N];
#pragma GCC unroll 8
      for (int t = 0; t < N; ++t) v[t] = load_aligned<i32v>(x + (i + t * near) * width);
      halve<N>(v);
#pragma GCC unroll 8
      for (int t = 0; t < N; ++t) store_aligned(x + (i + t * near) * width, v[t]);
    }
}
/// The first comparisons of merging each two sorted runs of k / 2 elements, at distances of k / 8 or more.
inline void begin_merges(std::int32_t* x, std::int64_t n, std::int64_t k) noexcept {
  const std::int64_t near = k / 8;
  for (std::int64_t block = 0; block < n; block += k)
    for (std::int64_t i = 0; i < near; ++i) {
      const auto place = [&](int t) { return (block + t * near + (t < 4 ? i : near - 1 - i)) * width; };
      i32v v[8];
#pragma GCC unroll 8
      for (int t = 0; t < 8; ++t) v[t] = load_aligned<i32v>(x + place(t));
      merge<8>(v);
#pragma GCC unroll 8
      for (int t = 0; t < 8; ++t) store_aligned(x + place(t), v[t]);
    }
}
}  // namespace detail

/// Sorts each column of x [n, lanes], where n is a power of two from 8 on. All elements take the same way, whatever their
/// values: runs of 8 are sorted in registers, and merged into runs of twice their length.
///
/// source  Batcher 1968, "Sorting networks and their applications", the bitonic network
inline void sort_columns(std::int32_t* x, std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; i += 8) {
    i32v v[8];
#pragma GCC unroll 8
    for (int t = 0; t < 8; ++t) v[t] = load_aligned<i32v>(x + (i + t) * width);
#pragma GCC unroll 8
    for (int t = 0; t < 8; t += 2) detail::merge<2>(v + t);
    detail::merge<4>(v), detail::merge<4>(v + 4), detail::merge<8>(v);
#pragma GCC unroll 8
    for (int t = 0; t < 8; ++t) store_aligned(x + (i + t) * width, v[t]);
  }
  for (std::int64_t k = 16; k <= n; k *= 2) {
    detail::begin_merges(x, n, k);
    std::int64_t far = k / 16;
    for (; far >= 4; far /= 8) detail::halve_all<8>(x, n, far);
    if (far == 2) detail::halve_all<4>(x, n, 2);
    if (far == 1) detail::halve_all<2>(x, n, 1);
  }
}

}  // namespace tokamax::cpu_backend::sorting
