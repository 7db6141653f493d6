// tokamax/backend/cpu/fourier/butterfly.hpp: Fourier transforms of a few complex numbers, one in each lane of registers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/fourier/fft.cpp
#pragma once

#include <tokamax/backend/cpu/vector/simd.hpp>  // xsimd, fma

namespace tokamax::cpu_backend::fourier {

/// Complex numbers as two registers.
template <class V>
struct lanes {
  V re, im;
};

template <class V>
[[gnu::always_inline]] inline lanes<V> operator+(lanes<V> a, lanes<V> b) noexcept {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
[[gnu::always_inline]] inline lanes<V> operator-(lanes<V> a, lanes<V> b) noexcept {
  return {a.re - b.re, a.im - b.im};
}
template <class V>
[[gnu::always_inline]] inline lanes<V> operator*(lanes<V> a, lanes<V> b) noexcept {
  return {xsimd::fms(a.re, b.re, a.im * b.im), xsimd::fma(a.re, b.im, a.im * b.re)};
}
template <class V>
[[gnu::always_inline]] inline lanes<V> scaled(lanes<V> a, V by) noexcept {
  return {a.re * by, a.im * by};
}
/// a + b s
template <class V>
[[gnu::always_inline]] inline lanes<V> plus_scaled(lanes<V> a, lanes<V> b, V s) noexcept {
  return {xsimd::fma(b.re, s, a.re), xsimd::fma(b.im, s, a.im)};
}
/// -i a
template <class V>
[[gnu::always_inline]] inline lanes<V> turned_back(lanes<V> a) noexcept {
  return {a.im, -a.re};
}
/// e^(-2 pi i k / 16), for k below 8.
template <class V>
[[gnu::always_inline]] inline lanes<V> sixteenth(int k) noexcept {
  constexpr double cosine[] = {1, 0.92387953251128675613, 0.70710678118654752440, 0.38268343236508977173, 0};
  using T = typename V::value_type;
  const double re = k <= 4 ? cosine[k] : -cosine[8 - k], im = k <= 4 ? -cosine[4 - k] : -cosine[k - 4];
  return {V(static_cast<T>(re)), V(static_cast<T>(im))};
}

/// x_k becomes sum x_j e^(-2 pi i j k / R): R is a power of two up to 16, 3 or 5.
template <int R, class V>
[[gnu::always_inline]] inline void butterfly(lanes<V>* x) noexcept {
  using T = typename V::value_type;
  if constexpr (R == 2) {
    const auto a = x[0], b = x[1];
    x[0] = a + b, x[1] = a - b;
  } else if constexpr (R == 3) {
    const V half(T(-0.5)), sine(T(0.86602540378443864676));
    const auto sum = x[1] + x[2], side = scaled(turned_back(x[1] - x[2]), sine), middle = plus_scaled(x[0], sum, half);
    x[0] = x[0] + sum, x[1] = middle + side, x[2] = middle - side;
  } else if constexpr (R == 4) {
    const auto a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turned_back(x[1] - x[3]);
    x[0] = a + c, x[1] = b + d, x[2] = a - c, x[3] = b - d;
  } else if constexpr (R == 5) {
    const V c1(T(0.30901699437494742410)), c2(T(-0.80901699437494742410)), s1(T(0.95105651629515357212)),
        s2(T(0.58778525229247312917));
    const auto a = x[1] + x[4], b = x[2] + x[3], c = turned_back(x[1] - x[4]), d = turned_back(x[2] - x[3]);
    const auto e = plus_scaled(plus_scaled(x[0], a, c1), b, c2), f = plus_scaled(plus_scaled(x[0], a, c2), b, c1);
    const auto g = plus_scaled(scaled(c, s1), d, s2), h = plus_scaled(scaled(c, s2), d, -s1);
    x[0] = x[0] + a + b, x[1] = e + g, x[2] = f + h, x[3] = f - h, x[4] = e - g;
  } else {  // the even and the odd ones, each a transform of half the length
    lanes<V> even[R / 2], odd[R / 2];
#pragma GCC unroll 8
    for (int k = 0; k < R / 2; ++k) even[k] = x[2 * k], odd[k] = x[2 * k + 1];
    butterfly<R / 2>(even), butterfly<R / 2>(odd);
#pragma GCC unroll 8
    for (int k = 0; k < R / 2; ++k) {
      const auto side = k == 0 ? odd[k] : k == R / 4 ? turned_back(odd[k]) : odd[k] * sixteenth<V>(k * (16 / R));
      x[k] = even[k] + side, x[k + R / 2] = even[k] - side;
    }
  }
}

}  // namespace tokamax::cpu_backend::fourier
