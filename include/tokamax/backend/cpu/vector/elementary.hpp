// tokamax/backend/cpu/vector/elementary.hpp: elementary functions on registers, over the whole range of floats.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/vector/doubles.hpp>  // in_doubles

#include <limits>  // infinity, quiet_NaN

#if defined(__AVX512F__) && XSIMD_VERSION_MAJOR < 9
  #error \
      "tokamax: xsimd 8 does not compile for AVX-512: use xsimd 9 or later, or -march=x86-64-v3 (products use AVX-512 then too)"
#endif

namespace tokamax::cpu_backend {

namespace detail {
/// x = n ln 2 + f with |f| <= ln 2 / 2, for -104 <= x <= 89, and g = e^f - 1. A NaN becomes g = NaN. Below -104, n is -254,
/// so that both factors of 2^n are 0: a product that underflows would take a hundred times as long.
struct reduced_exponent {
  i32v n;
  f32v g;
  explicit reduced_exponent(f32v x) noexcept {
    const f32v magic(12582912.0f);  // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
    const f32v y =
        select(x < f32v(-104.0f), f32v(-176.056385f), min(f32v(89.0f), x));  // min gives its second operand if NaN
    const f32v shifted = fma(y, f32v(1.44269504f), magic), whole = shifted - magic;
    const f32v f = fma(whole, f32v(2.12194440e-4f), fma(whole, f32v(-0.693359375f), y));  // ln 2 in two parts
    f32v q = fma(f32v(0.00138142182f), f, f32v(0.00836889863f));
    q = fma(q, f, f32v(0.0416684058f));
    q = fma(q, f, f32v(0.166665191f));
    q = fma(q, f, f32v(0.499999934f));
    n = bitcast<i32v>(shifted) - bitcast<i32v>(magic);
    g = fma(f * f, q, f);
  }
};
/// 2^n for -126 <= n <= 127.
inline f32v power_of(i32v n) noexcept { return bitcast<f32v>((n + i32v(127)) << 23); }
/// Is |x| so small that the function rounds to x? This also keeps the signs of zeros.
inline mask is_tiny(f32v x) noexcept { return abs(x) < f32v(0x1p-25f); }
}  // namespace detail

/// e^x within 1 unit in the last place over the whole range, including denormal results.
inline f32v exp(f32v x) noexcept {
  const detail::reduced_exponent e(x);
  const i32v half = e.n >> 1;  // 2^n in two factors: n is between -150 and 128
  return (e.g + f32v(1.0f)) * detail::power_of(half) * detail::power_of(e.n - half);
}

/// e^x - 1 within 2 units in the last place; -0 stays.
inline f32v expm1(f32v x) noexcept {
  const detail::reduced_exponent e(max(f32v(-20.0f), x));  // from there on the result is -1
  const f32v half = detail::power_of(e.n - i32v(1));       // 2^n would overflow before the result does
  const f32v r = fma(half, e.g, half - f32v(0.5f));
  return select(detail::is_tiny(x), x, r + r);
}

/// log(1 + x) within 1 unit in the last place; -0 stays.
inline f32v log1p(f32v x) noexcept { return select(detail::is_tiny(x), x, xsimd::log1p(x)); }

/// 1 / (1 + e^-x), from e^-|x|, which does not overflow.
inline f32v logistic(f32v x) noexcept {
  const f32v e = exp(-abs(x));
  return select(x < f32v(0.0f), e, f32v(1.0f)) / (f32v(1.0f) + e);
}

/// log(e^x + e^y), without overflow.
inline f32v logaddexp(f32v x, f32v y) noexcept {
  const f32v apart = x - y;  // NaN for equal infinities, whose sum is the result
  return select(apart == apart, select(x > y, x, y) + log1p(exp(-abs(apart))), x + y);
}

/// x^y within 1 unit in the last place; special values as in IEEE 754.
inline f32v power(f32v x, f32v y) noexcept {
  const f32v zero(0.0f), one(1.0f), inf(std::numeric_limits<float>::infinity());
  const f32v nan(std::numeric_limits<float>::quiet_NaN()), m = abs(x);
  const mask whole = y == floor(y), even = y == f32v(2.0f) * floor(f32v(0.5f) * y);
  const mask negative = (x < zero) | (one / x < zero);
  // Where the base is 0 or infinite, or the exponent is: infinity, 0 or 1. The sign is that of odd powers.
  const f32v end = select(((m > one) & (y > zero)) | ((m < one) & (y < zero)), inf, select(m == one, one, zero));
  const f32v inside =
      in_doubles([](auto base, auto exponent) { return detail::exp2_of(exponent * detail::log2_of(base)); }, m, y);
  const f32v size = select((m == zero) | (m == inf) | (abs(y) == inf), end, inside);
  f32v z = select(whole & !even & negative, -size, size);
  z = select((!(x == x)) | (!(y == y)) | ((x < zero) & (m < inf) & (!whole)), nan, z);
  return select((y == zero) | (x == one), one, select(y == one, x, z));
}

/// The probability that a standard normal variable is below x, within 1 unit in the last place.
inline f32v normal_cdf(f32v x) noexcept {
  return in_doubles(
      [](auto v) {
        const auto below = v < detail::every(0);
        const auto tail = detail::normal_tail(below ? -v : v);
        return below ? tail : 1.0 - tail;
      },
      x);
}

/// x normal_cdf(x), rounded once.
inline f32v gelu(f32v x) noexcept {
  return in_doubles(
      [](auto v) {
        const auto below = v < detail::every(0);
        const auto tail = detail::normal_tail(below ? -v : v);
        return v * (below ? tail : 1.0 - tail);
      },
      x);
}

/// The larger (smaller) number, or NaN if one of them is NaN. As in IEEE 754's maximum, -0 is smaller than 0: where a == b,
/// only the signs of zeros can differ.
inline f32v maximum(f32v a, f32v b) noexcept { return select((a > b) | !(a == a), a, select(a == b, a & b, b)); }
inline f32v minimum(f32v a, f32v b) noexcept { return select((a < b) | !(a == a), a, select(a == b, a | b, b)); }

}  // namespace tokamax::cpu_backend
