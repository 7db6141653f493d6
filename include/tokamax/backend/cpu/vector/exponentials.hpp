// tokamax/backend/cpu/vector/exponentials.hpp: exponentials of a block of a row with their sum, for any machine and AVX-512.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/features.hpp>         // features
#include <tokamax/backend/cpu/vector/prefetch.hpp>  // address_behind
#include <tokamax/backend/cpu/vector/rows.hpp>      // exp_bounded, whole_vector, partial_vector

#include <cstdint>  // int64_t
#include <limits>   // infinity

namespace tokamax::cpu_backend {

/// The contribution of a block to a row: the sum of exp(x - shift), and the maximum of all x and shift. If most - shift is
/// above 88, the sum has no meaning. If an x is NaN, the sum is NaN.
struct exponential_sum {
  float sum, most;
};

/// If e is not null, it gets e[j] = exp(x[j] - shift) for j < n.
using exponentials_fn = exponential_sum (*)(const float* x, std::int64_t n, float shift, float* e) noexcept;

namespace detail {

// Loads the cache line one page behind p into the first-level cache, where it is when the block has come so far.
[[gnu::always_inline]] inline void fetch_page_behind(const float* p) noexcept {
  __builtin_prefetch(address_behind(p, 4096));
}

template <bool Keep>
exponential_sum exponentials(const float* x, std::int64_t n, float shift, float* e) noexcept {
  const f32v down(shift);
  f32v sum[2] = {f32v(0.0f), f32v(0.0f)}, most[2] = {down, down};
  const auto add = [&](int k, std::int64_t j, auto lanes) {
    const f32v v = lanes(x + j, -std::numeric_limits<float>::infinity()), power = exp_bounded(v - down);
    most[k] = max_or_second(v, most[k]);
    sum[k] = sum[k] + power;
    if constexpr (Keep) lanes.put(e + j, power);
  };
  std::int64_t j = 0;
  for (; j + 2 * width <= n; j += 2 * width) {
    fetch_page_behind(x + j);
    add(0, j, whole_vector{});
    add(1, j + width, whole_vector{});
  }
  int half = 0;
  if (j + width <= n) {
    add(half++, j, whole_vector{});
    j += width;
  }
  if (j < n) add(half, j, partial_vector{n - j});
  return {reduce_add(sum[0] + sum[1]), reduce_max(max(most[0], most[1]))};
}

#if defined(__AVX2__) && !defined(__AVX512F__)
  #define TOKAMAX_EXPONENTIALS_TARGET gnu::target("avx512f,avx512dq")

// These are the steps of exp_bounded, so that the bits equal those of `exponentials` on two vectors of AVX2.
[[TOKAMAX_EXPONENTIALS_TARGET, gnu::always_inline]] inline __m512 exp_bounded_avx512(__m512 x,
                                                                                     __m512i powers) noexcept {
  const __m512 magic = _mm512_set1_ps(12583928.0f);
  const __m512 y = _mm512_maskz_max_ps(0xffff, _mm512_set1_ps(-88.0296919f), x);
  const __m512 shifted = _mm512_fmadd_ps(y, _mm512_set1_ps(11.5415603f), magic);
  const __m512 n = _mm512_sub_ps(shifted, magic);
  const __m512 r =
      _mm512_fmadd_ps(n, _mm512_set1_ps(2.38081787e-10f), _mm512_fmadd_ps(n, _mm512_set1_ps(-0.0866433976f), y));
  const __m512i index = _mm512_castps_si512(shifted);
  const __m512 power = _mm512_castsi512_ps(_mm512_add_epi32(_mm512_maskz_permutexvar_epi32(0xffff, index, powers),
                                                            _mm512_maskz_slli_epi32(0xffff, index, 20)));
  const __m512 slope = _mm512_fmadd_ps(_mm512_fmadd_ps(r, _mm512_set1_ps(0.16666858f), _mm512_set1_ps(0.50006447f)), r,
                                       _mm512_set1_ps(1.0f));
  return _mm512_fmadd_ps(_mm512_mul_ps(power, r), slope, power);
}

template <bool Keep>
[[TOKAMAX_EXPONENTIALS_TARGET]] exponential_sum exponentials_avx512(const float* x, std::int64_t n, float shift,
                                                                    float* e) noexcept {
  const __m512i powers = _mm512_loadu_si512(eighth_powers.data());
  const __m512 down = _mm512_set1_ps(shift), lowest = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  __m512 sum = _mm512_setzero_ps(), most = down;
  std::int64_t j = 0;
  for (; j + 16 <= n; j += 16) {
    fetch_page_behind(x + j);
    const __m512 v = _mm512_loadu_ps(x + j), power = exp_bounded_avx512(_mm512_sub_ps(v, down), powers);
    most = _mm512_maskz_max_ps(0xffff, v, most);
    sum = _mm512_add_ps(sum, power);
    if constexpr (Keep) _mm512_storeu_ps(e + j, power);
  }
  if (j < n) {
    const auto kept = static_cast<__mmask16>((1u << (n - j)) - 1u);
    const __m512 v = _mm512_mask_loadu_ps(lowest, kept, x + j);
    const __m512 power = exp_bounded_avx512(_mm512_sub_ps(v, down), powers);
    most = _mm512_maskz_max_ps(0xffff, v, most);
    sum = _mm512_add_ps(sum, power);
    if constexpr (Keep) _mm512_mask_storeu_ps(e + j, kept, power);
  }
  alignas(64) float sums[16], mosts[16];
  _mm512_store_ps(sums, sum);
  _mm512_store_ps(mosts, most);
  return {reduce_add(load(sums) + load(sums + 8)), reduce_max(max(load(mosts), load(mosts + 8)))};
}
  #undef TOKAMAX_EXPONENTIALS_TARGET
#endif
}  // namespace detail

/// The fastest function for this machine. AVX2 and AVX-512 give the same bits.
template <bool Keep>
exponentials_fn exponentials_of_block() noexcept {
#if defined(__AVX2__) && !defined(__AVX512F__)
  if (features().avx512) return detail::exponentials_avx512<Keep>;
#endif
  return detail::exponentials<Keep>;
}

}  // namespace tokamax::cpu_backend
