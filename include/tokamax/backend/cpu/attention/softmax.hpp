// tokamax/backend/cpu/attention/softmax.hpp: the softmax of a block of scores and its cotangent, for any machine and AVX-512.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/attention/attention.cpp
#pragma once

#include <tokamax/backend/cpu/attention/tiles.hpp>  // panel_lanes, by_lane_tile_fn
#include <tokamax/backend/cpu/gemm/pack/pairs.hpp>  // first_bits

#include <algorithm>  // min
#include <cstdint>    // int64_t
#include <limits>     // infinity

namespace tokamax::cpu_backend::detail {

/// The score of a key that a query does not see, before it is multiplied by log2_e: so low that its weight is 0 beside any
/// seen key, and a power of two, so that the product is exact. A query whose highest score is not above it sees no key.
/// Lower scores are raised to it.
inline constexpr float hidden_score = -0x1p126f;

/// Turns scores [keys, panel_lanes] into probabilities. Queries are in the lanes, so maxima and sums never cross lanes.
/// It updates `highest`, the maximum of scale * score, and `total`, the sum of 2^(scale * score - highest). `shrink`
/// receives the factor for the sums of earlier blocks. If `masked`, lane l sees the keys j <= first + l.
using softmax_fn = void (*)(float* scores, std::int64_t keys, std::int64_t queries, std::int64_t first, bool masked,
                            float scale, float* highest, float* total, float* shrink) noexcept;

/// Panels of a block of scores [rows, panel_lanes], keys in the lanes.
struct score_panels {
  std::int64_t panels, rows;
  std::int64_t stride;  ///< floats between panels
  std::int64_t last;    ///< row r sees the keys j <= min(last + r, keys - 1)
  std::int64_t keys;
  float scale;
};

/// Operands of bfloat16 pairs that are written in addition. p and ds are panels of B with pairs of rows, `stride` apart.
/// `turned` is ds as panels of A, with pairs of keys and `lanes` rows.
struct score_pairs {
  float *p, *ds;
  std::int64_t stride;
  float* turned;
  std::int64_t lanes;
  bool keeps;  ///< are ds written in f32, too?
};

/// Values for each row of scores: the logarithm of its normaliser to base 2, the factor that corrects its rounding, and
/// the product of the result and its cotangent.
struct score_rows {
  const float *log_sum, *correction, *delta;
};

/// Turns scores into probabilities p = 2^(scale * score - log_sum) * correction. Turns d, the products of the values and the
/// cotangent of the result, into ds = p * (d - delta), the cotangents of scale * score.
/// Where a score is hidden_score, both are 0, whatever the other numbers of the row are.
using score_cotangent_fn = void (*)(const score_panels& at, float* scores, float* d, const score_rows& of,
                                    const score_pairs& pairs) noexcept;

/// 2^x within 2 units in the last place for x <= 127, zero below 2^-126.
inline f32v power_of_two(f32v x) noexcept {
  const f32v magic(12582912.0f);  // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
  const f32v shifted = x + magic;
  const f32v f = x - (shifted - magic);
  f32v p = fma(f, f32v(0.00132647273f), f32v(0.00967151299f));
  p = fma(p, f, f32v(0.0555073358f));
  p = fma(p, f, f32v(0.240222424f));
  p = fma(p, f, f32v(0.693147004f));
  p = fma(p, f, f32v(1.0f));
  const f32v power = bitcast<f32v>((bitcast<i32v>(shifted) << 23) + i32v(127 << 23));
  return select(x < f32v(-126.0f), f32v(0.0f), p * power);
}

inline void softmax_block(float* scores, std::int64_t keys, std::int64_t queries, std::int64_t first, bool masked,
                          float scale, float* highest, float* total, float* shrink) noexcept {
  const f32v scales(scale), nothing(-std::numeric_limits<float>::infinity());
  const auto hidden = [](i32v last, std::int64_t j) { return to_mask(last < i32v(static_cast<std::int32_t>(j))); };
  for (std::int64_t c = 0; c < queries; c += width) {
    const i32v last = iota() + i32v(static_cast<std::int32_t>(first + c));
    const std::int64_t open = masked ? first + c + 1 : keys;  // all lanes see the keys before this one
    const f32v old = load(highest + c);
    f32v most = old, sum(0.0f);
    for (std::int64_t j = 0; j < keys; ++j) {
      f32v s = load(scores + j * panel_lanes + c) * scales;
      if (j >= open) s = select(hidden(last, j), nothing, s);
      most = max(most, s);
    }
    const f32v down = -most;
    for (std::int64_t j = 0; j < keys; ++j) {
      float* const at = scores + j * panel_lanes + c;
      f32v p = power_of_two(fma(load(at), scales, down));  // the difference of large scores is rounded once
      if (j >= open) p = select(hidden(last, j), f32v(0.0f), p);
      sum = sum + p;
      store(at, p);
    }
    const f32v before = power_of_two(old - most);
    store(shrink + c, before);
    store(highest + c, most);
    store(total + c, fma(load(total + c), before, sum));
  }
}

inline void score_cotangents(const score_panels& at, float* scores, float* d, const score_rows& of,
                             const score_pairs&) noexcept {
  const f32v scales(at.scale);
  for (std::int64_t i = 0; i < at.panels; ++i) {
    for (std::int64_t r = 0; r < at.rows; ++r) {
      const f32v down(-of.log_sum[r]), correction(of.correction[r]), shift(of.delta[r]);
      const std::int64_t last = std::min(at.last + r, at.keys - 1) - i * panel_lanes;
      for (std::int64_t c = 0; c < panel_lanes; c += width) {
        float *const s = scores + i * at.stride + r * panel_lanes + c, *const to = d + (s - scores);
        const f32v p = power_of_two(min(f32v(127.0f), fma(load(s), scales, down))) * correction;
        mask hidden = load(s) == f32v(hidden_score);
        if (last < c + width - 1) hidden = hidden | to_mask(iota() > i32v(static_cast<std::int32_t>(last - c)));
        store(s, select(hidden, f32v(0.0f), p));
        store(to, select(hidden, f32v(0.0f), p * (load(to) - shift)));
      }
    }
  }
}

#if defined(__x86_64__)
  #define TOKAMAX_SOFTMAX_TARGET gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512bf16")

/// 2^x by the integer below x and a polynomial on [0, 1) that is exact at 0. It is within 2 units in the last place of f32.
/// With one term less it is within 3e-6, far below the rounding to bfloat16. Lanes that are not kept are zero.
template <bool Rough>
[[TOKAMAX_SOFTMAX_TARGET, gnu::always_inline]] inline __m512 power_of_two_avx512(__m512 x,
                                                                                 __mmask16 kept = 0xffff) noexcept {
  const __m512 f = _mm512_maskz_reduce_ps(0xffff, x, 1);  // x - floor(x)
  __m512 p;
  if constexpr (Rough) {
    p = _mm512_fmadd_ps(f, _mm512_set1_ps(0.0134266857f), _mm512_set1_ps(0.0522424728f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.241280213f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.693044841f));
  } else {
    p = _mm512_fmadd_ps(f, _mm512_set1_ps(0.00186713017f), _mm512_set1_ps(0.00901702978f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.0557999127f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.240164444f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.693151295f));
  }
  return _mm512_maskz_scalef_ps(kept, _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0f)), x);
}

[[TOKAMAX_SOFTMAX_TARGET, gnu::always_inline]] inline __m512i lane_numbers() noexcept {
  return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

/// Words of bfloat16 pairs, `low` in the low halves.
[[TOKAMAX_SOFTMAX_TARGET, gnu::always_inline]] inline void store_pairs(float* to, __m512 low, __m512 high) noexcept {
  const __m512i order =
      _mm512_add_epi32(_mm512_set1_epi32(0x100000), _mm512_mullo_epi32(lane_numbers(), _mm512_set1_epi32(0x10001)));
  _mm512_storeu_si512(to, _mm512_maskz_permutexvar_epi16(0xffffffffu, order,
                                                         reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low))));
}

/// As softmax_block; with Pairs, row j of the result has the probabilities of the keys 2 j and 2 j + 1 in bfloat16.
template <bool Pairs>
[[TOKAMAX_SOFTMAX_TARGET]] void softmax_block_avx512(float* scores, std::int64_t keys, std::int64_t queries,
                                                     std::int64_t first, bool masked, float scale, float* highest,
                                                     float* total, float* shrink) noexcept {
  const __m512 scales = _mm512_set1_ps(scale);
  for (std::int64_t c = 0; c < queries; c += 16) {
    const __m512i last = _mm512_add_epi32(lane_numbers(), _mm512_set1_epi32(static_cast<int>(first + c)));
    float* const at = scores + c;
    const __m512 old = _mm512_loadu_ps(highest + c);
    __m512 most = old, sum = _mm512_setzero_ps(), sum_1 = sum;
    if (masked) {
      for (std::int64_t j = 0; j < keys; ++j) {
        const __mmask16 seen = _mm512_cmple_epi32_mask(_mm512_set1_epi32(static_cast<int>(j)), last);
        most = _mm512_mask_max_ps(most, seen, most, _mm512_mul_ps(_mm512_loadu_ps(at + j * panel_lanes), scales));
      }
    } else {
      __m512 m[4] = {most, most, most, most};
      std::int64_t j = 0;
      for (; j + 4 <= keys; j += 4)
  #pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
          m[i] = _mm512_maskz_max_ps(0xffff, m[i], _mm512_mul_ps(_mm512_loadu_ps(at + (j + i) * panel_lanes), scales));
      for (; j < keys; ++j)
        m[0] = _mm512_maskz_max_ps(0xffff, m[0], _mm512_mul_ps(_mm512_loadu_ps(at + j * panel_lanes), scales));
      most =
          _mm512_maskz_max_ps(0xffff, _mm512_maskz_max_ps(0xffff, m[0], m[1]), _mm512_maskz_max_ps(0xffff, m[2], m[3]));
    }
    std::int64_t j = 0;
    for (; j + 2 <= keys; j += 2) {
      __m512 p = power_of_two_avx512<Pairs>(_mm512_fmsub_ps(_mm512_loadu_ps(at + j * panel_lanes), scales, most));
      __m512 q = power_of_two_avx512<Pairs>(_mm512_fmsub_ps(_mm512_loadu_ps(at + (j + 1) * panel_lanes), scales, most));
      if (masked) {
        p = _mm512_maskz_mov_ps(_mm512_cmple_epi32_mask(_mm512_set1_epi32(static_cast<int>(j)), last), p);
        q = _mm512_maskz_mov_ps(_mm512_cmplt_epi32_mask(_mm512_set1_epi32(static_cast<int>(j)), last), q);
      }
      sum = _mm512_add_ps(sum, p);
      sum_1 = _mm512_add_ps(sum_1, q);
      if constexpr (Pairs) {
        store_pairs(at + j / 2 * panel_lanes, p, q);
      } else {
        _mm512_storeu_ps(at + j * panel_lanes, p);
        _mm512_storeu_ps(at + (j + 1) * panel_lanes, q);
      }
    }
    if (j < keys) {
      __m512 p = power_of_two_avx512<Pairs>(_mm512_fmsub_ps(_mm512_loadu_ps(at + j * panel_lanes), scales, most));
      if (masked) p = _mm512_maskz_mov_ps(_mm512_cmple_epi32_mask(_mm512_set1_epi32(static_cast<int>(j)), last), p);
      sum = _mm512_add_ps(sum, p);
      if constexpr (Pairs)
        store_pairs(at + j / 2 * panel_lanes, p, _mm512_setzero_ps());
      else
        _mm512_storeu_ps(at + j * panel_lanes, p);
    }
    const __m512 before = power_of_two_avx512<Pairs>(_mm512_sub_ps(old, most));
    _mm512_storeu_ps(shrink + c, before);
    _mm512_storeu_ps(highest + c, most);
    _mm512_storeu_ps(total + c, _mm512_fmadd_ps(_mm512_loadu_ps(total + c), before, _mm512_add_ps(sum, sum_1)));
  }
}

template <bool Pairs>
[[TOKAMAX_SOFTMAX_TARGET]] void score_cotangents_avx512(const score_panels& at, float* scores, float* d,
                                                        const score_rows& of, const score_pairs& pairs) noexcept {
  const __m512 scales = _mm512_set1_ps(at.scale), hidden = _mm512_set1_ps(hidden_score);
  const auto all = static_cast<__mmask16>(-1);
  for (std::int64_t i = 0; i < at.panels; ++i) {
    for (std::int64_t r = 0; r < at.rows; r += 2) {
      float *const s = scores + i * at.stride + r * panel_lanes, *const to = d + (s - scores);
      __m512 p[2][2] = {}, ds[2][2] = {};  // [row][half of the panel]
  #pragma GCC unroll 2
      for (int y = 0; y < 2; ++y) {
        if (r + y == at.rows) break;
        const __m512 sum = _mm512_set1_ps(of.log_sum[r + y]), shift = _mm512_set1_ps(of.delta[r + y]);
        const __m512 correction = _mm512_set1_ps(of.correction[r + y]);
        const std::int64_t seen = std::min(at.last + r + y + 1, at.keys) - i * panel_lanes;
  #pragma GCC unroll 2
        for (int x = 0; x < 2; ++x) {
          const std::int64_t cell = y * panel_lanes + 16 * x;
          const __m512 score = _mm512_loadu_ps(s + cell);
          const __mmask16 kept = _mm512_mask_cmp_ps_mask(
              seen >= 16 * x + 16 ? all : first_bits<__mmask16>(seen - 16 * x), score, hidden, _CMP_NEQ_UQ);
          p[y][x] = power_of_two_avx512<Pairs>(_mm512_fmsub_ps(score, scales, sum), kept);
          p[y][x] = _mm512_maskz_mul_ps(kept, p[y][x], correction);
          ds[y][x] = _mm512_maskz_mul_ps(kept, p[y][x], _mm512_sub_ps(_mm512_loadu_ps(to + cell), shift));
          if constexpr (!Pairs) _mm512_storeu_ps(s + cell, p[y][x]);
          if (!Pairs || pairs.keeps) _mm512_storeu_ps(to + cell, ds[y][x]);
        }
        if constexpr (Pairs)
          _mm512_storeu_si512(pairs.turned + (i * pairs.lanes + r + y) * 16,
                              reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(ds[y][1], ds[y][0])));
      }
      if constexpr (Pairs) {
  #pragma GCC unroll 2
        for (int x = 0; x < 2; ++x) {
          store_pairs(pairs.p + i * pairs.stride + r / 2 * panel_lanes + 16 * x, p[0][x], p[1][x]);
          store_pairs(pairs.ds + i * pairs.stride + r / 2 * panel_lanes + 16 * x, ds[0][x], ds[1][x]);
        }
      }
    }
  }
}
  #undef TOKAMAX_SOFTMAX_TARGET
#endif

/// The functions of attention for one machine: tiles, and the softmax of their sums.
struct attention_kernels {
  const microkernel_set& tiles;
  softmax_fn softmax = softmax_block;
  score_cotangent_fn score_cotangents = detail::score_cotangents;
  bool makes_panels = false;  ///< do these functions write operands of bfloat16 pairs?
  const by_lane_tile_fn* by_lane =
      nullptr;  ///< tiles by number of rows that read A by lane, if it is f32 or those pairs
};

#if defined(__x86_64__)
/// For tiles of AVX-512 or a matrix unit beside it.
inline attention_kernels attention_kernels_of(const microkernel_set& tiles) noexcept {
  if (tiles.terms == 2)
    return {tiles, softmax_block_avx512<true>, score_cotangents_avx512<true>, true,
            tiles.pack_a == nullptr ? by_lane_tiles<bfloat16_pair, 16>.data() : nullptr};
  return {tiles, softmax_block_avx512<false>, score_cotangents_avx512<false>, false,
          tiles.b_in_place ? by_lane_tiles<f32_term, 32>.data() : nullptr};
}
#endif

/// The caller has checked that the machine has the unit.
inline attention_kernels attention_kernels_for(gemm_machine machine, gemm_precision precision,
                                               bfloat16_unit unit = best_bfloat16_unit()) noexcept {
  const microkernel_set& tiles = microkernels_for(machine, precision, unit);
#if defined(__x86_64__)
  if (machine == gemm_machine::avx512) return attention_kernels_of(tiles);
  // Blocks stay in the caches, so pairs would save nothing.
  if (machine == gemm_machine::avx2 && precision == gemm_precision::bfloat16)
    return {microkernels_for(machine, microkernel_numbers::rounded)};
#endif
  return {tiles};
}

}  // namespace tokamax::cpu_backend::detail
