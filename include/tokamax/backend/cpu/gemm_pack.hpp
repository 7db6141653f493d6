// tokamax/backend/cpu/gemm_pack.hpp: copies strips of a matrix into the order in which the GEMM tiles read them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (kernels include it, and are compiled once)
// tested by tests/backend/cpu/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/prefetch.hpp>  // prefetch_to_read
#include <tokamax/backend/cpu/simd.hpp>      // the intrinsics

#include <algorithm>  // min
#include <bit>        // bit_cast
#include <cstdint>    // int64_t
#include <cstring>    // memcpy, memset

namespace tokamax::simd {

/// Packs one panel: packed[p * lanes_padded + l] = source[l * lane_stride + p * step_stride], zero for l >= lanes.
///
/// A panel of A has the rows of a tile as lanes, one of B its columns; the steps run along k.
using pack_panel_fn = void (*)(float* packed, std::int64_t lanes_padded, std::int64_t lanes, std::int64_t steps,
                               const float* source, std::int64_t lane_stride, std::int64_t step_stride) noexcept;

/// The same from bfloat16 bit patterns.
using pack_bfloat16_fn = void (*)(float* packed, std::int64_t lanes_padded, std::int64_t lanes, std::int64_t steps,
                                  const std::uint16_t* source, std::int64_t lane_stride,
                                  std::int64_t step_stride) noexcept;

/// The same from int8.
using pack_int8_fn = void (*)(float* packed, std::int64_t lanes_padded, std::int64_t lanes, std::int64_t steps,
                              const std::int8_t* source, std::int64_t lane_stride, std::int64_t step_stride) noexcept;

inline void pack_bfloat16_widened(float* packed, std::int64_t lanes_padded, std::int64_t lanes, std::int64_t steps,
                                  const std::uint16_t* source, std::int64_t lane_stride,
                                  std::int64_t step_stride) noexcept {
  for (std::int64_t p = 0; p < steps; ++p) {
    float* const to = packed + p * lanes_padded;
    const std::uint16_t* const from = source + p * step_stride;
    for (std::int64_t l = 0; l < lanes; ++l)
      to[l] = std::bit_cast<float>(static_cast<std::uint32_t>(from[l * lane_stride]) << 16);
    for (std::int64_t l = lanes; l < lanes_padded; ++l) to[l] = 0.0f;
  }
}

inline void pack_panel_portable(float* packed, std::int64_t lanes_padded, std::int64_t lanes, std::int64_t steps,
                                const float* source, std::int64_t lane_stride, std::int64_t step_stride) noexcept {
  if (lane_stride == 1) {
    const auto bytes = static_cast<std::size_t>(lanes) * sizeof(float);
    const auto rest = static_cast<std::size_t>(lanes_padded - lanes) * sizeof(float);
    for (std::int64_t p = 0; p < steps; ++p) {
      std::memcpy(packed + p * lanes_padded, source + p * step_stride, bytes);
      if (rest != 0) std::memset(packed + p * lanes_padded + lanes, 0, rest);
    }
    return;
  }
  for (std::int64_t p = 0; p < steps; ++p) {
    float* const to = packed + p * lanes_padded;
    const float* const from = source + p * step_stride;
    for (std::int64_t l = 0; l < lanes; ++l) to[l] = from[l * lane_stride];
    for (std::int64_t l = lanes; l < lanes_padded; ++l) to[l] = 0.0f;
  }
}

#if defined(__x86_64__)
namespace detail {

// The first n of 8 floats; n is even wherever a panel is not a multiple of 8 wide.
[[gnu::target("avx2,fma")]] inline void store_lanes(float* to, __m256 v, std::int64_t n) noexcept {
  if (n >= 8) {
    _mm256_storeu_ps(to, v);
    return;
  }
  __m128 part = _mm256_castps256_ps128(v);
  if ((n & 4) != 0) {
    _mm_storeu_ps(to, part);
    part = _mm256_extractf128_ps(v, 1);
    to += 4;
  }
  if ((n & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), part);
    part = _mm_movehl_ps(part, part);
    to += 2;
  }
  if ((n & 1) != 0) _mm_store_ss(to, part);
}

// 8 lanes that are contiguous along the steps: one 8x8 transpose. Zeros for the lanes that the matrix does not have.
[[gnu::target("avx2,fma"), gnu::always_inline]] inline void pack_transposed(float* packed, std::int64_t lanes_padded,
                                                                            std::int64_t kept, std::int64_t lanes,
                                                                            const float* source,
                                                                            std::int64_t lane_stride) noexcept {
  __m256 r[8], t[8];
  #pragma GCC unroll 8
  for (int l = 0; l < 8; ++l) r[l] = l < lanes ? _mm256_loadu_ps(source + l * lane_stride) : _mm256_setzero_ps();
  #pragma GCC unroll 4
  for (int l = 0; l < 8; l += 2) {
    t[l] = _mm256_unpacklo_ps(r[l], r[l + 1]);
    t[l + 1] = _mm256_unpackhi_ps(r[l], r[l + 1]);
  }
  #pragma GCC unroll 2
  for (int l = 0; l < 8; l += 4) {
    r[l] = _mm256_shuffle_ps(t[l], t[l + 2], 0x44);
    r[l + 1] = _mm256_shuffle_ps(t[l], t[l + 2], 0xee);
    r[l + 2] = _mm256_shuffle_ps(t[l + 1], t[l + 3], 0x44);
    r[l + 3] = _mm256_shuffle_ps(t[l + 1], t[l + 3], 0xee);
  }
  #pragma GCC unroll 4
  for (int l = 0; l < 4; ++l) {
    t[l] = _mm256_permute2f128_ps(r[l], r[l + 4], 0x20);
    t[l + 4] = _mm256_permute2f128_ps(r[l], r[l + 4], 0x31);
  }
  #pragma GCC unroll 8
  for (int s = 0; s < 8; ++s) prefetch_to_write(packed + s * lanes_padded + words_ahead);
  if (kept == 8) {
  #pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) _mm256_storeu_ps(packed + s * lanes_padded, t[s]);
  } else {
  #pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) store_lanes(packed + s * lanes_padded, t[s], kept);
  }
}

// Lanes that lie side by side: 8 at a time, the last 8 overlapping the ones before.
[[gnu::target("avx2,fma")]] inline void pack_copied(float* packed, std::int64_t lanes_padded, std::int64_t steps,
                                                    const float* source, std::int64_t step_stride) noexcept {
  const std::int64_t last = lanes_padded - 8;
  for (std::int64_t p = 0; p < steps; ++p) {
    const float* const from = source + p * step_stride;
    float* const to = packed + p * lanes_padded;
    for (std::int64_t l = 0; l < lanes_padded; l += 16) prefetch_to_read(from + rows_ahead * step_stride + l);
    prefetch_to_write(to + words_ahead);
    for (std::int64_t l = 0; l < last; l += 8) _mm256_storeu_ps(to + l, _mm256_loadu_ps(from + l));
    _mm256_storeu_ps(to + last, _mm256_loadu_ps(from + last));
  }
}
}  // namespace detail

[[gnu::target("avx2,fma")]] inline void pack_panel_avx2(float* packed, std::int64_t lanes_padded, std::int64_t lanes,
                                                        std::int64_t steps, const float* source,
                                                        std::int64_t lane_stride, std::int64_t step_stride) noexcept {
  if (lane_stride == 1 && lanes == lanes_padded && lanes >= 8) {
    detail::pack_copied(packed, lanes_padded, steps, source, step_stride);
  } else if (step_stride == 1 && lane_stride != 1) {
    // 8 lanes over all steps, then the next 8: more lanes at once would fight for the same lines of the first level
    // cache when their stride is a power of two.
    const std::int64_t done = steps / 8 * 8;
    for (std::int64_t l = 0; l < lanes_padded; l += 8) {
      const std::int64_t kept = std::min<std::int64_t>(8, lanes_padded - l),
                         left = std::min<std::int64_t>(8, lanes - l);
      for (std::int64_t p = 0; p < done; p += 8) {
        const float* const from = source + l * lane_stride + p;
        // The strip of lanes that comes next: a lane's run is too short for the hardware to see it in time.
        if (p % 16 == 0)
          for (std::int64_t i = 8; i < 16; ++i) __builtin_prefetch(from + i * lane_stride);
        detail::pack_transposed(packed + p * lanes_padded + l, lanes_padded, kept, left, from, lane_stride);
      }
    }
    pack_panel_portable(packed + done * lanes_padded, lanes_padded, lanes, steps - done, source + done, lane_stride, 1);
  } else {
    pack_panel_portable(packed, lanes_padded, lanes, steps, source, lane_stride, step_stride);
  }
}
#endif

}  // namespace tokamax::simd
