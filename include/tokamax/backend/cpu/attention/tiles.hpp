// tokamax/backend/cpu/attention/tiles.hpp: register tiles that read a block of scores row by row, without packing it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/attention/attention.cpp
#pragma once

#include <tokamax/backend/cpu/attention/blocks.hpp>  // panel_lanes
#include <tokamax/backend/cpu/gemm/isa/avx512.hpp>   // for its users: f32_term and bfloat16_pair
#include <tokamax/backend/cpu/gemm/pack/pairs.hpp>   // first_bits

#include <array>    // array
#include <cstdint>  // int64_t
#include <utility>  // index_sequence

namespace tokamax::cpu_backend::detail {

/// As gemm_tile_fn for an A whose rows lie one after the other, some packed steps of each; the next steps of all rows
/// are `a_panel` floats on. B is one panel.
using by_lane_tile_fn = void (*)(std::int64_t k, const float* a, std::int64_t a_panel, const float* b, float* c,
                                 std::int64_t ldc, std::int64_t columns, tile_mode mode) noexcept;

#if defined(__x86_64__)
/// `Steps` packed steps of a row lie side by side.
template <int Rows, class Term, int Steps>
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,fma,avx2")]] void tile_by_lane(
    std::int64_t k, const float* a, std::int64_t a_panel, const float* b, float* c, std::int64_t ldc,
    std::int64_t columns, tile_mode mode) noexcept {
  __m512 sum[Rows][2];
  #pragma GCC unroll 14
  for (int r = 0; r < Rows; ++r) sum[r][0] = sum[r][1] = _mm512_setzero_ps();
  for (std::int64_t first = 0; first < k; first += Steps, a += a_panel) {
    const std::int64_t steps = k - first < Steps ? k - first : Steps;
    for (std::int64_t p = 0; p < steps; ++p, b += panel_lanes) {
      const __m512 left = _mm512_loadu_ps(b), right = _mm512_loadu_ps(b + 16);
  #pragma GCC unroll 14
      for (int r = 0; r < Rows; ++r) {
        const __m512 row = _mm512_set1_ps(a[r * Steps + p]);
        sum[r][0] = Term::add(sum[r][0], row, left);
        sum[r][1] = Term::add(sum[r][1], row, right);
      }
    }
  }
  const auto kept_left = first_bits<__mmask16>(columns), kept_right = first_bits<__mmask16>(columns - 16);
  #pragma GCC unroll 14
  for (int r = 0; r < Rows; ++r) {
    float* const to = c + r * ldc;
    if (mode == tile_mode::add) {
      sum[r][0] = _mm512_add_ps(_mm512_maskz_loadu_ps(kept_left, to), sum[r][0]);
      sum[r][1] = _mm512_add_ps(_mm512_maskz_loadu_ps(kept_right, to + 16), sum[r][1]);
    }
    _mm512_mask_storeu_ps(to, kept_left, sum[r][0]);
    _mm512_mask_storeu_ps(to + 16, kept_right, sum[r][1]);
  }
}

template <class Term, int Steps>
inline constexpr auto by_lane_tiles = []<std::size_t... Index>(std::index_sequence<Index...>) {
  return std::array<by_lane_tile_fn, sizeof...(Index) + 1>{nullptr,
                                                           tile_by_lane<static_cast<int>(Index) + 1, Term, Steps>...};
}(std::make_index_sequence<14>());
#endif

}  // namespace tokamax::cpu_backend::detail
