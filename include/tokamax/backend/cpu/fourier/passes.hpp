// tokamax/backend/cpu/fourier/passes.hpp: the passes of a Fourier transform, which leave their results in order.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/fourier/fft.cpp
#pragma once

#include <tokamax/backend/cpu/fourier/butterfly.hpp>  // butterfly
#include <tokamax/backend/cpu/vector/transpose.hpp>   // shuffled, transpose_square

#include <cstdint>  // int64_t

namespace tokamax::cpu_backend::fourier {

/// Prime factors above this one need Bluestein's way.
inline constexpr std::int64_t largest_factor = 61;

/// Complex numbers as two arrays.
template <class T>
struct pair_of {
  T *re, *im;
};

namespace detail {
template <class V, class T>
[[gnu::always_inline]] inline lanes<V> load_pair(pair_of<T> x, std::int64_t at) noexcept {
  return {V::load_unaligned(x.re + at), V::load_unaligned(x.im + at)};
}
template <class V, class T>
[[gnu::always_inline]] inline void store_pair(pair_of<T> y, std::int64_t at, lanes<V> v) noexcept {
  v.re.store_unaligned(y.re + at), v.im.store_unaligned(y.im + at);
}
}  // namespace detail

/// A pass of Stockham's way: x [R, m, s] -> y [m, R, s], with a transform of length R of the first axis and a turn of each
/// result k at p by `turns` [m, R - 1, 2], which hold e^(-2 pi i p k / (R m)). s is a multiple of the lanes. Without turns, m is 1.
template <int R, bool Turns, class T>
void pass(pair_of<const T> x, pair_of<T> y, std::int64_t m, std::int64_t s, const T* turns) noexcept {
  using V = xsimd::batch<T>;
  constexpr auto width = static_cast<std::int64_t>(V::size);
  for (std::int64_t p = 0; p < m; ++p) {
    for (std::int64_t q = 0; q < s; q += width) {
      lanes<V> a[R];
#pragma GCC unroll 16
      for (int j = 0; j < R; ++j) a[j] = detail::load_pair<V>(x, q + s * (p + m * j));
      butterfly<R>(a);
      detail::store_pair(y, q + s * R * p, a[0]);
#pragma GCC unroll 16
      for (int k = 1; k < R; ++k) {
        if constexpr (Turns) a[k] = a[k] * lanes<V>{V(turns[2 * k - 2]), V(turns[2 * k - 1])};
        detail::store_pair(y, q + s * (R * p + k), a[k]);
      }
    }
    if constexpr (Turns) turns += 2 * (R - 1);
  }
}

/// The same for a prime length r; `roots` [r, 2] are e^(-2 pi i j / r).
template <class T>
void pass_of_prime(pair_of<const T> x, pair_of<T> y, std::int64_t r, std::int64_t m, std::int64_t s, const T* turns,
                   const T* roots) noexcept {
  using V = xsimd::batch<T>;
  constexpr auto width = static_cast<std::int64_t>(V::size);
  for (std::int64_t p = 0; p < m; ++p)
    for (std::int64_t q = 0; q < s; q += width)
      for (std::int64_t k = 0; k < r; ++k) {
        lanes<V> sum = detail::load_pair<V>(x, q + s * p);
        for (std::int64_t j = 1, at = k; j < r; ++j, at = at + k < r ? at + k : at + k - r) {
          const auto a = detail::load_pair<V>(x, q + s * (p + m * j));
          const V re(roots[2 * at]), im(roots[2 * at + 1]);
          sum.re = xsimd::fma(a.re, re, xsimd::fnma(a.im, im, sum.re));
          sum.im = xsimd::fma(a.re, im, xsimd::fma(a.im, re, sum.im));
        }
        if (k > 0) {
          const T* const turn = turns + 2 * (p * (r - 1) + k - 1);
          sum = sum * lanes<V>{V(turn[0]), V(turn[1])};
        }
        detail::store_pair(y, q + s * (r * p + k), sum);
      }
}

/// The first pass of a row whose length is a multiple of the square of the lanes W: x [W, m] -> y [m, W]. The lanes are
/// neighbours in the row, so that results turn around in registers; `turns` [m / W, W - 1, 2, W]. With Pairs, x.re is
/// [W, m, 2], a row of complex numbers whose parts are neighbours.
template <bool Pairs, class T>
void first_pass(pair_of<const T> x, pair_of<T> y, std::int64_t m, const T* turns) noexcept {
  using V = xsimd::batch<T>;
  constexpr int width = static_cast<int>(V::size);
  for (std::int64_t p = 0; p < m; p += width) {
    lanes<V> a[width];
#pragma GCC unroll 16
    for (int j = 0; j < width; ++j)
      if constexpr (Pairs) {
        const auto [low, high] = detail::load_pair<V>(pair_of<const T>{x.re, x.re + width}, 2 * (p + m * j));
        a[j].re = shuffled(low, high, [](std::size_t i, std::size_t) { return 2 * i; });
        a[j].im = shuffled(low, high, [](std::size_t i, std::size_t) { return 2 * i + 1; });
      } else {
        a[j] = detail::load_pair<V>(x, p + m * j);
      }
    butterfly<width>(a);
    V re[width], im[width];
    re[0] = a[0].re, im[0] = a[0].im;
#pragma GCC unroll 16
    for (int k = 1; k < width; ++k, turns += 2 * width) {
      a[k] = a[k] * detail::load_pair<V>(pair_of<const T>{turns, turns + width}, 0);
      re[k] = a[k].re, im[k] = a[k].im;
    }
    transpose_square(re), transpose_square(im);
#pragma GCC unroll 16
    for (int i = 0; i < width; ++i) detail::store_pair(y, (p + i) * width, lanes<V>{re[i], im[i]});
  }
}

}  // namespace tokamax::cpu_backend::fourier
