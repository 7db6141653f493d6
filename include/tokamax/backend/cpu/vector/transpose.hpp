// tokamax/backend/cpu/vector/transpose.hpp: lanes in another order, and squares of registers turned around their diagonal.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/fourier/fft.cpp
#pragma once

#include <tokamax/backend/cpu/vector/simd.hpp>  // native, from_native

#include <cstddef>  // size_t
#include <utility>  // index_sequence

namespace tokamax::cpu_backend {

namespace detail {
template <class T, std::size_t Lanes, class Index, std::size_t... Lane>
[[gnu::always_inline]] inline auto shuffle_native(vector_t<T, Lanes> a, vector_t<T, Lanes> b, Index,
                                                  std::index_sequence<Lane...>) noexcept {
  return __builtin_shufflevector(a, b, static_cast<int>(Index{}(Lane, Lanes))...);
}
}  // namespace detail

/// Lane i of the result is lane Index{}(i, Lanes) of both registers, one after the other.
template <class Index, class V>
[[gnu::always_inline]] inline V shuffled(V a, V b, Index at) noexcept {
  using T = typename V::value_type;
  using lanes = std::make_index_sequence<V::size>;
  return detail::from_native<V>(detail::shuffle_native<T, V::size>(detail::native(a), detail::native(b), at, lanes{}));
}

namespace detail {
/// Exchanges the blocks of B lanes beside the diagonal, and then larger ones.
template <int B, class V>
[[gnu::always_inline]] inline void exchange_blocks(V* x) noexcept {
  constexpr int size = static_cast<int>(V::size);
  const auto upper = [](std::size_t i, std::size_t n) { return (i & B) != 0 ? n + i - B : i; };
  const auto lower = [](std::size_t i, std::size_t n) { return (i & B) != 0 ? n + i : i + B; };
#pragma GCC unroll 16
  for (int i = 0; i < size; ++i) {
    if ((i & B) != 0) continue;
    const V a = x[i], b = x[i + B];
    x[i] = shuffled(a, b, upper), x[i + B] = shuffled(a, b, lower);
  }
  if constexpr (2 * B < size) exchange_blocks<2 * B>(x);
}
}  // namespace detail

/// Turns a square of registers around its diagonal. The first steps stay within 16 bytes, where machines are fastest.
template <class V>
[[gnu::always_inline]] inline void transpose_square(V* x) noexcept {
  constexpr int size = static_cast<int>(V::size);
  constexpr int near = 16 / static_cast<int>(sizeof(typename V::value_type));  // lanes of 16 bytes
  const auto low = [](std::size_t i, std::size_t n) { return i / 2 % (near / 2) + i / near * near + i % 2 * n; };
  const auto high = [](std::size_t i, std::size_t n) {
    return i / 2 % (near / 2) + near / 2 + i / near * near + i % 2 * n;
  };
#pragma GCC unroll 16
  for (int base = 0; base < size; base += near) {
    V* const r = x + base;
    if constexpr (near == 4) {
      const V a = shuffled(r[0], r[2], low), b = shuffled(r[0], r[2], high), c = shuffled(r[1], r[3], low),
              d = shuffled(r[1], r[3], high);
      r[0] = shuffled(a, c, low), r[1] = shuffled(a, c, high), r[2] = shuffled(b, d, low), r[3] = shuffled(b, d, high);
    } else {
      const V a = shuffled(r[0], r[1], low), b = shuffled(r[0], r[1], high);
      r[0] = a, r[1] = b;
    }
  }
  if constexpr (size > near) detail::exchange_blocks<near>(x);
}

}  // namespace tokamax::cpu_backend
