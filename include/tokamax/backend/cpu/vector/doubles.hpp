// tokamax/backend/cpu/vector/doubles.hpp: the lanes of a register as doubles, and logarithms and powers of two of doubles.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/vector/elementary.cpp
#pragma once

#include <tokamax/backend/cpu/vector/simd.hpp>  // f32v, split

#include <cstdint>  // uint64_t

namespace tokamax::cpu_backend {

namespace detail {
/// Half the lanes of a register, as doubles and as their bits.
using f64h = vector_t<double, f32v::size / 2>;
using u64h = vector_t<std::uint64_t, f32v::size / 2>;

inline f64h doubles_of(vector_t<float, f32v::size / 2> v) noexcept { return __builtin_convertvector(v, f64h); }

/// Both halves, rounded to floats.
inline f32v floats_of(f64h low, f64h high) noexcept {
  using half = vector_t<float, f32v::size / 2>;
  const halves<float, f32v::size> both{__builtin_convertvector(low, half), __builtin_convertvector(high, half)};
#if defined(__AVX512F__)
  const auto first = _mm512_castps_pd(_mm512_castps256_ps512(__builtin_bit_cast(__m256, both.low)));
  return f32v(_mm512_castpd_ps(
      _mm512_maskz_insertf64x4(0xff, first, _mm256_castps_pd(__builtin_bit_cast(__m256, both.high)), 1)));
#elif defined(__AVX__)
  return f32v(_mm256_insertf128_ps(_mm256_castps128_ps256(__builtin_bit_cast(__m128, both.low)),
                                   __builtin_bit_cast(__m128, both.high), 1));
#else
  return from_native<f32v>(__builtin_bit_cast(native_t<f32v>, both));
#endif
}

inline f64h every(double v) noexcept { return f64h{} + v; }
inline f64h doubles_from(u64h bits) noexcept { return __builtin_bit_cast(f64h, bits); }
inline u64h bits_of(f64h v) noexcept { return __builtin_bit_cast(u64h, v); }

/// a b + c, with one rounding on machines that have such an instruction.
inline f64h fused(f64h a, f64h b, f64h c) noexcept {
#if defined(__AVX512F__)
  return __builtin_bit_cast(f64h, _mm512_fmadd_pd(__builtin_bit_cast(__m512d, a), __builtin_bit_cast(__m512d, b),
                                                  __builtin_bit_cast(__m512d, c)));
#elif defined(__AVX2__) && defined(__FMA__)
  return __builtin_bit_cast(f64h, _mm256_fmadd_pd(__builtin_bit_cast(__m256d, a), __builtin_bit_cast(__m256d, b),
                                                  __builtin_bit_cast(__m256d, c)));
#else
  return a * b + c;
#endif
}

/// first + x (second + x (...)).
template <class... Rest>
[[gnu::always_inline]] inline f64h polynomial(f64h x, double first, Rest... rest) noexcept {
  if constexpr (sizeof...(rest) == 0)
    return every(first);
  else
    return fused(polynomial(x, rest...), x, every(first));
}

/// log2(x) of positive normal numbers, with a relative error of 2^-37. For 0 and infinity the result has no meaning.
///
///   x = 2^k m, m in [sqrt(1/2), sqrt(2)):  log2(x) = k + 2 atanh(s) / ln 2,  s = (m - 1) / (m + 1)
inline f64h log2_of(f64h x) noexcept {
  constexpr std::uint64_t root = 0x3fe6a09e667f3bcd, above = std::uint64_t{1100} << 52;  // above keeps k positive
  const u64h k = (bits_of(x) + (above - root)) >> 52;
  const f64h m = doubles_from(bits_of(x) - (k << 52) + above);
  const f64h s = (m - 1.0) / (m + 1.0);
  const f64h whole = doubles_from(k | 0x4330000000000000u) - (0x1p52 + 1100);  // k as the low bits of 2^52
  return whole + s * polynomial(s * s, 2.8853900817901419, 0.961796673266196356, 0.577083600347838732,
                                0.411671744797365015, 0.340748998279099946);
}

/// 2^x with a relative error of 2^-29. Arguments beyond -200 and 200 count as these. NaN stays NaN.
inline f64h exp2_of(f64h x) noexcept {
  const f64h y = x > every(200) ? every(200) : x < every(-200) ? every(-200) : x;
  const f64h shifted = y + 0x1.8p52;  // the rounded integer is in the low bits
  const f64h p =
      polynomial(y - (shifted - 0x1.8p52), 1.0000000005585774, 0.693147205886860509, 0.2402264686798078,
                 0.0555032845090493301, 0.009618490376591543, 0.00134000632675494737, 0.000153457018148662848);
  return doubles_from(bits_of(p) + (bits_of(shifted) << 52));
}

/// The probability that a standard normal variable is above a >= 0, with a relative error of 2^-28; 0 from a = 16 on. NaN
/// stays NaN.
///
///   e^(-a^2 / 2) p(u) / (a + 3),  u = (a - 3) / (a + 3)
inline f64h normal_tail(f64h a) noexcept {
  const f64h share = 1.0 / (a + 3.0);
  const f64h p =
      polynomial((a - 3.0) * share, 0.729083690375716236, -0.509331991410137804, 0.230017699419444125,
                 -0.0472626879924964606, -0.0104625129003478677, 0.00696931130745898987, 0.00102475404476204089,
                 -0.00103257366530828553, -0.000244730151348516413, 0.0001313302909111842, 0.0000544891440787677423);
  const f64h tail = exp2_of(a * a * -0.72134752044448170) * p * share;
  return a > every(16) ? every(0) : tail;
}
}  // namespace detail

/// Applies f to each lane as a double, and rounds the result to a float once. f maps vectors of doubles.
template <class F, class... V>
[[gnu::always_inline]] inline f32v in_doubles(F f, V... x) noexcept {
  const auto low = f(detail::doubles_of(detail::split<float, f32v::size>(detail::native(x)).low)...);
  const auto high = f(detail::doubles_of(detail::split<float, f32v::size>(detail::native(x)).high)...);
  return detail::floats_of(low, high);
}

}  // namespace tokamax::cpu_backend
