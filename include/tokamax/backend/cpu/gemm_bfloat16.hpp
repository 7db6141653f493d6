// tokamax/backend/cpu/gemm_bfloat16.hpp: panels and tiles of products in bfloat16 that are summed in f32.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (kernels include it, and are compiled once)
// tested by tests/backend/cpu/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm_microkernel.hpp>  // gemm_kernels

#include <cstdint>  // int64_t

namespace tokamax::simd {

/// In which numbers operands are multiplied; sums are always f32.
enum class gemm_precision { f32, bfloat16 };

namespace detail {

/// Panels whose f32 are rounded to bfloat16: the products of machines without bfloat16 instructions.
template <pack_panel_fn Pack>
void pack_rounded(float* packed, std::int64_t lanes_padded, std::int64_t lanes, std::int64_t steps, const float* source,
                  std::int64_t lane_stride, std::int64_t step_stride) noexcept {
  Pack(packed, lanes_padded, lanes, steps, source, lane_stride, step_stride);
  const std::int64_t count = lanes_padded * steps;
  std::uint16_t half[f32v::size];
  std::int64_t i = 0;
  for (; i + width <= count; i += width) {
    store_bfloat16(half, load(packed + i));
    store(packed + i, load_bfloat16(half));
  }
  if (i < count) {
    store_bfloat16(half, load_partial(packed + i, count - i));
    store_partial(packed + i, load_bfloat16(half), count - i);
  }
}

template <pack_panel_fn Pack>
constexpr gemm_kernels rounding(gemm_kernels k) {
  k.direct = false;
  k.pack = pack_rounded<Pack>;
  return k;
}

#if defined(__x86_64__)
// Panels of pairs: packed[q * lanes_padded + l] holds the terms 2q (low half) and 2q + 1 of lane l, zero where there is
// none. Lanes are first brought side by side, `pair_steps` pairs at a time, and then transposed like f32.
inline constexpr std::int64_t pair_steps = 32, pair_lanes = 32;

[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")]] inline void pairs_of_lane(
    float* to, const float* from, std::int64_t steps) noexcept {
  for (std::int64_t p = 0; p < steps; p += 32) {
    const std::int64_t left = steps - p;
    const auto low = static_cast<__mmask16>(left >= 16 ? 0xffffu : (1u << left) - 1u);
    const auto high = static_cast<__mmask16>(left >= 32 ? 0xffffu : left <= 16 ? 0u : (1u << (left - 16)) - 1u);
    const __m512bh both =
        _mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(high, from + p + 16), _mm512_maskz_loadu_ps(low, from + p));
    _mm512_storeu_ps(to + p / 2, reinterpret_cast<__m512>(both));
  }
}
inline void pairs_of_lane(float* to, const std::uint16_t* from, std::int64_t steps) noexcept {
  std::memcpy(to, from, static_cast<std::size_t>(steps) * sizeof(*from));
  if (steps % 2 != 0) {
    const std::uint16_t zero = 0;
    std::memcpy(reinterpret_cast<std::byte*>(to) + steps * 2, &zero, sizeof zero);
  }
}

// 16 lanes of two steps that lie side by side. The masks are all ones: gcc 12 warns of what the plain forms leave open.
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16"), gnu::always_inline]] inline __m512i pair_up(
    const float* first, const float* second, __mmask16 kept) noexcept {
  const __m512bh both =
      _mm512_cvtne2ps_pbh(second != nullptr ? _mm512_maskz_loadu_ps(kept, second) : _mm512_setzero_ps(),
                          _mm512_maskz_loadu_ps(kept, first));
  const __m512i order = _mm512_or_si512(
      _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
      _mm512_maskz_slli_epi32(0xffff, _mm512_set_epi32(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16),
                              16));
  return _mm512_maskz_permutexvar_epi16(0xffffffffu, order, reinterpret_cast<__m512i>(both));
}
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16"), gnu::always_inline]] inline __m512i pair_up(
    const std::uint16_t* first, const std::uint16_t* second, __mmask16 kept) noexcept {
  const __m512i low = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(kept, first));
  if (second == nullptr) return low;
  return _mm512_or_si512(
      low,
      _mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(kept, second)), 16));
}

template <class T>
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")]] void pack_adjacent_pairs(
    float* packed, std::int64_t lanes_padded, std::int64_t lanes, std::int64_t steps, const T* source,
    std::int64_t step_stride) noexcept {
  for (std::int64_t p = 0; p < steps; p += 2) {
    const T* const first = source + p * step_stride;
    const T* const second = p + 1 < steps ? first + step_stride : nullptr;
    float* const to = packed + p / 2 * lanes_padded;
    for (std::int64_t l = 0; l < lanes_padded; l += 16) {
      const auto mask = [](std::int64_t n) {
        return static_cast<__mmask16>(n >= 16 ? 0xffffu : n <= 0 ? 0u : (1u << n) - 1u);
      };
      const __mmask16 kept = mask(lanes - l);
      _mm512_mask_storeu_epi32(to + l, mask(lanes_padded - l),
                               pair_up(first + l, second == nullptr ? nullptr : second + l, kept));
    }
  }
}

template <class T>
void pack_pairs(float* packed, std::int64_t lanes_padded, std::int64_t lanes, std::int64_t steps, const T* source,
                std::int64_t lane_stride, std::int64_t step_stride) noexcept {
  if (lane_stride == 1) {
    pack_adjacent_pairs(packed, lanes_padded, lanes, steps, source, step_stride);
    return;
  }
  alignas(64) float pairs[pair_lanes * pair_steps];
  alignas(64) T gathered[2 * pair_steps];
  for (std::int64_t p = 0; p < steps; p += 2 * pair_steps) {
    const std::int64_t now = steps - p < 2 * pair_steps ? steps - p : 2 * pair_steps;
    for (std::int64_t l = 0; l < lanes; ++l) {
      const T* from = source + l * lane_stride + p * step_stride;
      if (step_stride != 1) {
        for (std::int64_t i = 0; i < now; ++i) gathered[i] = from[i * step_stride];
        from = gathered;
      }
      pairs_of_lane(pairs + l * pair_steps, from, now);
    }
    pack_panel_avx2(packed + p / 2 * lanes_padded, lanes_padded, lanes, (now + 1) / 2, pairs, pair_steps, 1);
  }
}

template <int Rows>
inline constexpr gemm_tile_fn pair_tile = tile_avx512<Rows, 2, bfloat16_pair>;

inline constexpr gemm_kernels gemm_avx512_bfloat16 = {
    .terms = 2,
    .direct = false,
    .rows = 14,
    .columns = 32,
    .tile = {nullptr, pair_tile<1>, pair_tile<2>, pair_tile<3>, pair_tile<4>, pair_tile<5>, pair_tile<6>, pair_tile<7>,
             pair_tile<8>, pair_tile<9>, pair_tile<10>, pair_tile<11>, pair_tile<12>, pair_tile<13>, pair_tile<14>},
    .wide = {},
    .wide_columns = {},
    .pack = pack_pairs<float>,
    .pack_bfloat16 = pack_pairs<std::uint16_t>,
};
inline constexpr gemm_kernels gemm_avx512_rounding = rounding<pack_panel_avx2>(gemm_avx512);
inline constexpr gemm_kernels gemm_avx2_rounding = rounding<pack_panel_avx2>(gemm_avx2);
#endif

template <class V = f32v>
inline constexpr gemm_kernels gemm_portable_rounding = rounding<pack_panel_portable>(gemm_portable<V>);
}  // namespace detail

/// Has this machine instructions for products in bfloat16? Otherwise operands are rounded and multiplied in f32.
inline bool has_bfloat16_products() noexcept {
#if defined(__x86_64__)
  static const bool found = [] {
    __builtin_cpu_init();
    return best_gemm_machine() == gemm_machine::avx512 && __builtin_cpu_supports("avx512bf16") != 0;
  }();
  return found;
#else
  return false;
#endif
}

/// Tiles for products in `precision`; `emulated` leaves the bfloat16 instructions out where the machine has them.
inline const gemm_kernels& gemm_kernels_for(gemm_machine machine, gemm_precision precision,
                                            bool emulated = false) noexcept {
  if (precision == gemm_precision::f32) return gemm_kernels_for(machine);
#if defined(__x86_64__)
  if (machine == gemm_machine::avx512)
    return has_bfloat16_products() && !emulated ? detail::gemm_avx512_bfloat16 : detail::gemm_avx512_rounding;
  if (machine == gemm_machine::avx2) return detail::gemm_avx2_rounding;
#endif
  static_cast<void>(emulated);
  return detail::gemm_portable_rounding<>;
}

}  // namespace tokamax::simd
