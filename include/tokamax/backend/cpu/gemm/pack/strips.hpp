// tokamax/backend/cpu/gemm/pack/strips.hpp: copies strips of a matrix into the order in which the GEMM tiles read them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/vector/prefetch.hpp>  // prefetch_to_read
#include <tokamax/backend/cpu/vector/simd.hpp>      // the intrinsics
#include <tokamax/base/bfloat16.hpp>                // bfloat16

#include <algorithm>    // copy_n, min
#include <cstdint>      // int64_t
#include <type_traits>  // conditional_t

namespace tokamax::cpu_backend {

/// How to pack one panel: packed[p * lanes_padded + l] = source[l * lane_stride + p * step_stride], zero for l >= lanes.
///
/// A panel of A has the rows of a tile as lanes, and a panel of B has its columns; the steps run along k. T is float,
/// std::uint16_t for bit patterns of bfloat16, or std::int8_t.
template <class T>
struct pack_call {
  float* packed;
  std::int64_t lanes_padded, lanes, steps;
  const T* source;
  std::int64_t lane_stride, step_stride;
};
template <class T>
using pack_fn = void (*)(const pack_call<T>& call) noexcept;

namespace detail {
/// The sources of panels of f32: f32, f32 that is rounded to bfloat16, and bfloat16.
enum class pack_source { f32, rounded, bfloat16 };

template <pack_source S>
using pack_element = std::conditional_t<S == pack_source::bfloat16, std::uint16_t, float>;

template <pack_source S>
constexpr std::int64_t line_elements = 64 / sizeof(pack_element<S>);

/// One value of a panel as f32.
template <pack_source S>
float packed_value(pack_element<S> x) noexcept {
  if constexpr (S == pack_source::bfloat16)
    return bfloat16::from_bits(x);
  else if constexpr (S == pack_source::rounded)
    return bfloat16(x);
  else
    return x;
}

/// Packs a panel on any machine. This is the meaning of the faster packers.
template <pack_source S>
void pack_portable(const pack_call<pack_element<S>>& call) noexcept {
  auto [packed, lanes_padded, lanes, steps, source, lane_stride, step_stride] = call;
  for (std::int64_t p = 0; p < steps; ++p) {
    float* const to = packed + p * lanes_padded;
    const pack_element<S>* const from = source + p * step_stride;
    if (lane_stride == 1) {  // a case of its own, so that the compiler vectorises it
      for (std::int64_t l = 0; l < lanes; ++l) to[l] = packed_value<S>(from[l]);
    } else {
      for (std::int64_t l = 0; l < lanes; ++l) to[l] = packed_value<S>(from[l * lane_stride]);
    }
    for (std::int64_t l = lanes; l < lanes_padded; ++l) to[l] = 0.0f;
  }
}

#if defined(__x86_64__)
/// Eight values that are f32 in the source, as they are packed.
template <pack_source S>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256 packed_vector(__m256 value) noexcept {
  if constexpr (S != pack_source::rounded) {
    return value;
  } else {  // rounded to the nearest, ties to even; NaN stays NaN
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256 quiet = _mm256_or_ps(value, _mm256_castsi256_ps(_mm256_set1_epi32(0x400000)));
    const __m256 rounded = _mm256_blendv_ps(_mm256_castsi256_ps(up), quiet, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    return _mm256_and_ps(rounded, _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }
}

/// Eight values of the source, as they are packed.
template <pack_source S>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256 load_packed(const pack_element<S>* from) noexcept {
  if constexpr (S == pack_source::bfloat16) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))), 16));
  } else {
    return packed_vector<S>(_mm256_loadu_ps(from));
  }
}

/// Stores the first n of 8 floats.
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

/// Transposes a square: word j of row i becomes word i of row j.
[[gnu::target("avx2"), gnu::always_inline]] inline void transpose_words(__m256 (&r)[8]) noexcept {
  __m256 t[8];
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
  for (int l = 0; l < 8; ++l) r[l] = t[l];
}

/// Packs 8 lanes that are contiguous along the steps, by one 8x8 transpose. Lanes that the matrix does not have are zero.
template <pack_source S>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline void pack_transposed(float* packed, std::int64_t lanes_padded,
                                                                            std::int64_t kept, std::int64_t lanes,
                                                                            const pack_element<S>* source,
                                                                            std::int64_t lane_stride) noexcept {
  __m256 r[8];
  #pragma GCC unroll 8
  for (int l = 0; l < 8; ++l) r[l] = l < lanes ? load_packed<S>(source + l * lane_stride) : _mm256_setzero_ps();
  transpose_words(r);
  #pragma GCC unroll 8
  for (int s = 0; s < 8; ++s) prefetch_to_write(packed + s * lanes_padded + words_ahead);
  if (kept == 8) {
  #pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) _mm256_storeu_ps(packed + s * lanes_padded, r[s]);
  } else {
  #pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) store_lanes(packed + s * lanes_padded, r[s], kept);
  }
}

/// Packs contiguous lanes, 8 at a time. The last 8 overlap the ones before.
template <pack_source S>
[[gnu::target("avx2,fma")]] void pack_copied(float* packed, std::int64_t lanes_padded, std::int64_t steps,
                                             const pack_element<S>* source, std::int64_t step_stride) noexcept {
  const std::int64_t last = lanes_padded - 8;
  for (std::int64_t p = 0; p < steps; ++p) {
    const pack_element<S>* const from = source + p * step_stride;
    float* const to = packed + p * lanes_padded;
    for (std::int64_t l = 0; l < lanes_padded; l += line_elements<S>)
      prefetch_to_read(from + rows_ahead * step_stride + l);
    prefetch_to_write(to + words_ahead);
    for (std::int64_t l = 0; l < last; l += 8) _mm256_storeu_ps(to + l, load_packed<S>(from + l));
    _mm256_storeu_ps(to + last, load_packed<S>(from + last));
  }
}

/// A mask with all bits of the first n of 8 lanes.
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256i first_of_8(std::int64_t n) noexcept {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// Loads the first n of 8 values, with zeros behind them.
template <pack_source S>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256 load_packed_first(const pack_element<S>* from,
                                                                                std::int64_t n) noexcept {
  if constexpr (S == pack_source::bfloat16) {
    std::uint16_t some[8] = {};
    std::copy_n(from, n, some);
    return load_packed<S>(some);
  } else {
    return packed_vector<S>(_mm256_maskload_ps(from, first_of_8(n)));
  }
}

/// Packs fewer than 8 contiguous lanes.
template <pack_source S>
[[gnu::target("avx2,fma")]] void pack_narrow(float* packed, std::int64_t lanes_padded, std::int64_t lanes,
                                             std::int64_t steps, const pack_element<S>* source,
                                             std::int64_t step_stride) noexcept {
  for (std::int64_t p = 0; p < steps; ++p) {
    const pack_element<S>* const from = source + p * step_stride;
    prefetch_to_read(from + rows_ahead * step_stride);
    prefetch_to_write(packed + words_ahead);
    store_lanes(packed, load_packed_first<S>(from, lanes), lanes_padded);
    packed += lanes_padded;
  }
}

/// Packs a panel of f32: lanes that lie side by side are copied, and steps that do are transposed.
template <pack_source S>
[[gnu::target("avx2,fma")]] void pack_avx2(const pack_call<pack_element<S>>& call) noexcept {
  auto [packed, lanes_padded, lanes, steps, source, lane_stride, step_stride] = call;
  if (lane_stride == 1 && lanes == lanes_padded && lanes >= 8) {
    pack_copied<S>(packed, lanes_padded, steps, source, step_stride);
  } else if (lane_stride == 1 && lanes_padded < 8) {
    pack_narrow<S>(packed, lanes_padded, lanes, steps, source, step_stride);
  } else if (step_stride == 1 && lane_stride != 1) {
    // 8 lanes over all steps, then the next 8. If the stride of lanes is a power of two, more lanes at once would compete
    // for the same lines of the first-level cache.
    const std::int64_t done = steps / 8 * 8;
    for (std::int64_t l = 0; l < lanes_padded; l += 8) {
      const std::int64_t kept = std::min<std::int64_t>(8, lanes_padded - l),
                         left = std::min<std::int64_t>(8, lanes - l);
      for (std::int64_t p = 0; p < done; p += 8) {
        const pack_element<S>* const from = source + l * lane_stride + p;
        // Prefetch the next strip of lanes, because the run of a lane is too short for the hardware prefetcher.
        if (p % line_elements<S> == 0)
          for (std::int64_t i = 8; i < 16; ++i) __builtin_prefetch(from + i * lane_stride);
        pack_transposed<S>(packed + p * lanes_padded + l, lanes_padded, kept, left, from, lane_stride);
      }
    }
    pack_portable<S>({packed + done * lanes_padded, lanes_padded, lanes, steps - done, source + done, lane_stride, 1});
  } else {
    pack_portable<S>(call);
  }
}
#endif
}  // namespace detail

}  // namespace tokamax::cpu_backend
