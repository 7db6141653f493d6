// tokamax/backend/cpu/vector/narrow.hpp: registers of 32 bits a lane from numbers of 8 bits and bfloat16, and back.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/vector/simd.cpp
#pragma once

#include <tokamax/backend/cpu/vector/simd.hpp>  // f32v, i32v

#include <cstdint>  // uint16_t
#include <cstring>  // memcpy

namespace tokamax::cpu_backend {

namespace detail {
/// Widens n <= width numbers of 8 bits, with or without a sign; the other lanes are zero.
template <class T>
i32v widened_bytes(const T* p, std::int64_t n) noexcept {
  vector_t<T, f32v::size> bytes{};
  std::memcpy(&bytes, p, static_cast<std::size_t>(n));
  return from_native<i32v>(__builtin_convertvector(bytes, native_t<i32v>));
}
}  // namespace detail

/// Widens `width` numbers of 8 bits, or n <= width of them; then the other lanes are zero.
inline i32v load_int8(const std::int8_t* p) noexcept {
#if defined(__AVX512F__)  // gcc 12 widens lane by lane, or with AVX2 in four steps, unless the instruction is named
  return i32v(_mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__AVX2__)
  return i32v(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  return detail::widened_bytes(p, width);
#endif
}
inline i32v load_int8(const std::int8_t* p, std::int64_t n) noexcept { return detail::widened_bytes(p, n); }
/// The same of numbers without a sign.
inline i32v load_uint8(const std::uint8_t* p) noexcept {
#if defined(__AVX512F__)
  return i32v(_mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__AVX2__)
  return i32v(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  return detail::widened_bytes(p, width);
#endif
}
inline i32v load_uint8(const std::uint8_t* p, std::int64_t n) noexcept { return detail::widened_bytes(p, n); }
namespace detail {
/// The low 8 bits of each lane.
inline vector_t<std::uint8_t, f32v::size> low_bytes(i32v v) noexcept {
#if defined(__AVX2__) && !defined(__AVX512F__)  // gcc 12 moves lane by lane unless the instructions are named
  const __m256i low = _mm256_and_si256(v.data, _mm256_set1_epi32(0xff));
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  const auto bytes = __builtin_bit_cast(vector_t<std::uint64_t, 2>, _mm_packus_epi16(words, words));
  return __builtin_bit_cast(vector_t<std::uint8_t, f32v::size>, bytes[0]);
#else
  return __builtin_convertvector(native(v), vector_t<std::uint8_t, f32v::size>);
#endif
}
}  // namespace detail

/// Stores the low 8 bits of the first n <= width lanes.
inline void store_int8(std::int8_t* p, i32v v, std::int64_t n = width) noexcept {
  const auto bytes = detail::low_bytes(v);
  std::memcpy(p, &bytes, static_cast<std::size_t>(n));
}

/// Widens `width` bit patterns of float8_e4m3fn; exact. As the high bits of an f32 they are too small by a power of two.
inline f32v load_float8_e4m3fn(const std::int8_t* p) noexcept {
  const i32v bits = (load_int8(p) << 20) & i32v(static_cast<std::int32_t>(0x87f00000u));
  const f32v nan = bitcast<f32v>(i32v(0x7fc00000));
  return select(abs(bitcast<f32v>(bits)) == bitcast<f32v>(i32v(0x07f00000)), nan, bitcast<f32v>(bits) * f32v(0x1p120f));
}

/// Widens `width` bfloat16 bit patterns; exact.
inline f32v load_bfloat16(const std::uint16_t* p) noexcept {
#if defined(__AVX2__) && !defined(__AVX512F__)  // gcc 12 widens through two halves unless the instruction is named
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return f32v(_mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
#else
  detail::vector_t<std::uint16_t, f32v::size> half;
  std::memcpy(&half, p, sizeof half);
  const auto wide = __builtin_convertvector(half, detail::native_t<u32v>);
  return bitcast<f32v>(detail::from_native<u32v>(wide << 16));
#endif
}

/// The nearest bfloat16, ties to even; NaN stays NaN (quiet, of the same sign).
inline f32v round_to_bfloat16(f32v v) noexcept {
  using words = detail::native_t<u32v>;
  const words bits = __builtin_bit_cast(words, v.data);
  const words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
  const words quiet = (bits & 0x80000000u) | 0x7fc00000u;
  return bitcast<f32v>(detail::from_native<u32v>(detail::native(v) != detail::native(v) ? quiet : rounded));
}

namespace detail {
/// The upper halves of values that are bfloat16 already.
inline vector_t<std::uint16_t, f32v::size> upper_halves(f32v v) noexcept {
#if defined(__AVX2__) && !defined(__AVX512F__)
  const __m256i words = _mm256_srli_epi32(_mm256_castps_si256(v.data), 16);
  return __builtin_bit_cast(vector_t<std::uint16_t, f32v::size>,
                            _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
#else
  return __builtin_convertvector(__builtin_bit_cast(native_t<u32v>, v.data) >> 16, vector_t<std::uint16_t, f32v::size>);
#endif
}
}  // namespace detail

/// Stores the bit patterns of `width` bfloat16, or the first n: a v that is none is cut.
inline void store_upper_halves(std::uint16_t* p, f32v v, std::int64_t n = width) noexcept {
  const auto half = detail::upper_halves(v);
  std::memcpy(p, &half, static_cast<std::size_t>(n) * sizeof(*p));
}

/// Rounds and stores `width` bfloat16 bit patterns.
inline void store_bfloat16(std::uint16_t* p, f32v v) noexcept { store_upper_halves(p, round_to_bfloat16(v)); }

inline f32v load_bfloat16_partial(const std::uint16_t* p, std::int64_t n) noexcept {
  alignas(64) std::uint16_t lanes[f32v::size] = {};
  std::memcpy(lanes, p, static_cast<std::size_t>(n) * sizeof(lanes[0]));
  return load_bfloat16(lanes);
}

inline void store_bfloat16_partial(std::uint16_t* p, f32v v, std::int64_t n) noexcept {
  store_upper_halves(p, round_to_bfloat16(v), n);
}

}  // namespace tokamax::cpu_backend
