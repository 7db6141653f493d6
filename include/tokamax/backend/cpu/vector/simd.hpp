// tokamax/backend/cpu/vector/simd.hpp: the vector types of the CPU kernels, at the architecture the file is compiled for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <tokamax/backend/cpu/one_march.hpp>  // in every file with vectors

// gcc 12 warns about undefined values in its own AVX-512 intrinsics wherever they are inlined.
#if defined(__GNUC__) && !defined(__clang__)
  #pragma GCC diagnostic push
  #pragma GCC diagnostic ignored "-Wuninitialized"
  #pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <xsimd/xsimd.hpp>  // batch, batch_bool; no other header includes it
#if defined(__x86_64__)
  #include <immintrin.h>  // the intrinsics of functions with a target of their own
#endif
#if defined(__GNUC__) && !defined(__clang__)
  #pragma GCC diagnostic pop
#endif

#include <array>        // array
#include <cstddef>      // size_t
#include <cstdint>      // int32_t
#include <cstring>      // memcpy
#include <type_traits>  // is_same_v

namespace tokamax::cpu_backend {

using f32v = xsimd::batch<float>;
using i32v = xsimd::batch<std::int32_t>;
using u32v = xsimd::batch<std::uint32_t>;
/// The one type of predicates. `to_mask` converts comparisons of integers to it.
using mask = xsimd::batch_bool<float>;

/// Lanes of f32v, i32v and u32v.
inline constexpr std::int64_t width = static_cast<std::int64_t>(f32v::size);

// Functions of xsimd, under the names that element functions use for floats as well. elementary.hpp has the others.
using xsimd::abs, xsimd::max, xsimd::min, xsimd::sqrt, xsimd::fma, xsimd::select;
using xsimd::ceil, xsimd::floor, xsimd::nearbyint, xsimd::trunc;
using xsimd::cos, xsimd::erf, xsimd::log, xsimd::sin, xsimd::tan;

#if defined(__AVX512F__)
/// a b + c with one rounding. xsimd rounds twice for these registers.
inline f32v fma(f32v a, f32v b, f32v c) noexcept { return f32v(_mm512_fmadd_ps(a.data, b.data, c.data)); }
#endif

/// The larger number, or the second operand if either is NaN.
inline f32v max_or_second(f32v a, f32v b) noexcept {
#if defined(__x86_64__)
  return max(a, b);  // one instruction
#else
  return select(a > b, a, b);
#endif
}

/// The smaller number, likewise.
inline f32v min_or_second(f32v a, f32v b) noexcept {
#if defined(__x86_64__)
  return min(a, b);
#else
  return select(a < b, a, b);
#endif
}
/// In which lanes is one of two numbers NaN?
inline mask either_nan(f32v a, f32v b) noexcept {
#if defined(__AVX512F__)
  return mask(_mm512_cmp_ps_mask(a.data, b.data, _CMP_UNORD_Q));
#elif defined(__AVX__)
  return mask(_mm256_cmp_ps(a.data, b.data, _CMP_UNORD_Q));
#else
  return xsimd::isnan(a) | xsimd::isnan(b);
#endif
}

inline float select(bool condition, float yes, float no) noexcept { return condition ? yes : no; }

namespace detail {
/// The register of V as a built-in vector, which both compilers convert and split without intrinsics. The builtin casts the
/// bits, because nvcc defines std::bit_cast twice if one vector type has two names.
template <class T, std::size_t Lanes>
struct vector_of {
  typedef T type __attribute__((vector_size(sizeof(T) * Lanes)));
};
template <class T, std::size_t Lanes>
using vector_t = typename vector_of<T, Lanes>::type;

template <class V>
using native_t = vector_t<typename V::value_type, V::size>;

template <class V>
native_t<V> native(V v) noexcept {
  return __builtin_bit_cast(native_t<V>, v.data);
}

template <class V>
V from_native(native_t<V> v) noexcept {
  return V(__builtin_bit_cast(typename V::register_type, v));
}

template <class T, std::size_t Lanes>
struct halves {
  vector_t<T, Lanes / 2> low, high;
};

// gcc 12 splits registers through memory unless the instruction is named.
template <class T, std::size_t Lanes>
halves<T, Lanes> split(vector_t<T, Lanes> v) noexcept {
#if defined(__AVX512F__)
  if constexpr (sizeof(v) == 64) {
    const auto bits = __builtin_bit_cast(__m512i, v);
    return {__builtin_bit_cast(vector_t<T, Lanes / 2>, _mm512_castsi512_si256(bits)),
            __builtin_bit_cast(vector_t<T, Lanes / 2>, _mm512_maskz_extracti64x4_epi64(0xf, bits, 1))};
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(v) == 32) {
    const auto bits = __builtin_bit_cast(__m256i, v);
    return {__builtin_bit_cast(vector_t<T, Lanes / 2>, _mm256_castsi256_si128(bits)),
            __builtin_bit_cast(vector_t<T, Lanes / 2>, _mm256_extracti128_si256(bits, 1))};
  }
#endif
  return __builtin_bit_cast(halves<T, Lanes>, v);
}

// Combines halves until one lane is left. This is a fixed tree, so the result does not depend on the call.
template <class T, std::size_t Lanes, class F>
T fold(vector_t<T, Lanes> v, F f) noexcept {
  if constexpr (Lanes == 2) {
    return f(v[0], v[1]);
  } else if constexpr (Lanes == 4) {
    return f(f(v[0], v[2]), f(v[1], v[3]));
  } else {
    const halves<T, Lanes> h = split<T, Lanes>(v);
    return fold<T, Lanes / 2>(f(h.low, h.high), f);
  }
}
}  // namespace detail

/// Same bits, other lane type (all lanes are 32 bits wide).
template <class To, class From>
To bitcast(From v) noexcept {
  return To(__builtin_bit_cast(typename To::register_type, v.data));
}

/// A comparison of i32v or u32v as the canonical predicate.
template <class T>
mask to_mask(xsimd::batch_bool<T> m) noexcept {
  return mask(__builtin_bit_cast(typename mask::register_type, m.data));
}

/// select for the integer vectors, on the canonical predicate.
template <class V>
  requires(std::is_same_v<V, i32v> || std::is_same_v<V, u32v>)
V select_bits(mask condition, V yes, V no) noexcept {
  return bitcast<V>(select(condition, bitcast<f32v>(yes), bitcast<f32v>(no)));
}

template <class V = f32v>
V load(const typename V::value_type* p) noexcept {
  return V::load_unaligned(p);
}

template <class V = f32v>
V load_aligned(const typename V::value_type* p) noexcept {
  return V::load_aligned(p);
}

// These are not templates, because argument-dependent lookup also finds the template xsimd::store, which needs aligned
// memory.
inline void store(float* p, f32v v) noexcept { v.store_unaligned(p); }
inline void store(std::int32_t* p, i32v v) noexcept { v.store_unaligned(p); }
inline void store(std::uint32_t* p, u32v v) noexcept { v.store_unaligned(p); }

inline void store_aligned(float* p, f32v v) noexcept { v.store_aligned(p); }
inline void store_aligned(std::int32_t* p, i32v v) noexcept { v.store_aligned(p); }
inline void store_aligned(std::uint32_t* p, u32v v) noexcept { v.store_aligned(p); }

namespace detail {
#if defined(__x86_64__)
inline void stream(float* p, __m128 v) noexcept { _mm_stream_ps(p, v); }
  #if defined(__AVX__)
inline void stream(float* p, __m256 v) noexcept { _mm256_stream_ps(p, v); }
  #endif
  #if defined(__AVX512F__)
inline void stream(float* p, __m512 v) noexcept { _mm512_stream_ps(p, v); }
  #endif
#endif
}  // namespace detail

/// Stores a vector past the caches, where the machine can; p is aligned to a vector, and finish_streams must follow.
inline void stream(float* p, f32v v) noexcept {
#if defined(__x86_64__)
  detail::stream(p, v.data);
#else
  store_aligned(p, v);
#endif
}

/// Makes streamed stores of this thread visible to other threads.
inline void finish_streams() noexcept {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

/// Lane numbers 0, 1, 2, ...
inline i32v iota() noexcept {
  alignas(64) std::int32_t lanes[f32v::size];
  for (std::size_t i = 0; i < f32v::size; ++i) lanes[i] = static_cast<std::int32_t>(i);
  return i32v::load_aligned(lanes);
}

/// True in the first n lanes.
inline mask first_lanes(std::int64_t n) noexcept { return to_mask(iota() < i32v(static_cast<std::int32_t>(n))); }

/// Loads n < width lanes and fills the others with `padding`. Nothing behind p[n-1] is read.
template <class V = f32v>
V load_partial(const typename V::value_type* p, std::int64_t n, typename V::value_type padding = {}) noexcept {
#if defined(__AVX512F__)
  if constexpr (sizeof(typename V::register_type) == 64) {
    const auto pad = bitcast<i32v>(V(padding));
    return bitcast<V>(i32v(_mm512_mask_loadu_epi32(pad.data, static_cast<__mmask16>((1u << n) - 1u), p)));
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(typename V::register_type) == 32) {
    const mask kept = first_lanes(n);
    const i32v read(_mm256_maskload_epi32(reinterpret_cast<const int*>(p), _mm256_castps_si256(kept.data)));
    if (padding == typename V::value_type{}) return bitcast<V>(read);
    return bitcast<V>(select(kept, bitcast<f32v>(read), bitcast<f32v>(V(padding))));
  }
#endif
  alignas(64) typename V::value_type lanes[V::size];
  store_aligned(lanes, V(padding));
  std::memcpy(lanes, p, static_cast<std::size_t>(n) * sizeof(lanes[0]));
  return V::load_aligned(lanes);
}

/// Stores the first n < width lanes; nothing behind p[n-1] is touched.
template <class V>
void store_partial(typename V::value_type* p, V v, std::int64_t n) noexcept {
#if defined(__AVX512F__)
  if constexpr (sizeof(typename V::register_type) == 64) {
    _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << n) - 1u), bitcast<i32v>(v).data);
    return;
  }
#endif
  alignas(64) typename V::value_type lanes[V::size];
  store_aligned(lanes, v);
  std::memcpy(p, lanes, static_cast<std::size_t>(n) * sizeof(lanes[0]));
}

/// base[index[lane]] in each lane.
inline f32v gather(const float* base, i32v index) noexcept {
  alignas(64) std::int32_t where[f32v::size];
  alignas(64) float lanes[f32v::size];
  store_aligned(where, index);
  for (std::size_t i = 0; i < f32v::size; ++i) lanes[i] = base[where[i]];
  return f32v::load_aligned(lanes);
}

/// The sum, maximum and minimum over the lanes, by halves.
inline float reduce_add(f32v v) noexcept {
  return detail::fold<float, f32v::size>(detail::native(v), [](auto a, auto b) { return a + b; });
}
inline float reduce_max(f32v v) noexcept {
  return detail::fold<float, f32v::size>(detail::native(v), [](auto a, auto b) { return a > b ? a : b; });
}
inline float reduce_min(f32v v) noexcept {
  return detail::fold<float, f32v::size>(detail::native(v), [](auto a, auto b) { return a < b ? a : b; });
}

#if defined(__AVX2__)
namespace detail {
// 2^(k / 8), twice. The exponents lack k / 8 and the bias, and adding index << 20 puts them back.
inline constexpr auto eighth_powers = [] {
  constexpr float powers[8] = {1.0f,       1.0905077f, 1.1892071f, 1.2968396f,
                               1.4142135f, 1.5422108f, 1.6817929f, 1.8340081f};
  std::array<std::int32_t, 16> bits{};
  for (int k = 0; k < 16; ++k)
    bits[static_cast<std::size_t>(k)] = __builtin_bit_cast(std::int32_t, powers[k % 8]) - ((8 * 127 + k % 8) << 20);
  return bits;
}();

// Looks up the table by the low bits of each index.
inline i32v at_eighths(i32v index) noexcept {
  #if defined(__AVX512F__)
  return i32v(_mm512_maskz_permutexvar_epi32(0xffff, index.data, _mm512_loadu_si512(eighth_powers.data())));
  #else
  return i32v(_mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(eighth_powers.data())),
                                          index.data));
  #endif
}
}  // namespace detail

/// exp(x) for x <= 88, within 2 units in the last place. Below -87.3 it goes to zero. NaN stays NaN.
///
///   x = (n + k / 8) ln 2 + r, |r| <= ln 2 / 16:  exp(x) = 2^n 2^(k/8) (1 + r + c2 r^2 + c3 r^3)
///
/// The eight powers are in a register. The cubic has the least relative error, 2.6e-8.
inline f32v exp_bounded(f32v x) noexcept {
  const f32v magic(12583928.0f);  // 1.5 * 2^23 + 8 * 127: adding it leaves 8 n + k and the bias in the low bits
  const f32v y = max(f32v(-88.0296919f), x);  // at this bound n = -127 and k = 0, so the power is zero
  const f32v shifted = fma(y, f32v(11.5415603f), magic);
  const f32v n = shifted - magic;
  const f32v r = fma(n, f32v(2.38081787e-10f), fma(n, f32v(-0.0866433976f), y));  // ln 2 / 8 in two parts
  const i32v index = bitcast<i32v>(shifted);
  const f32v power = bitcast<f32v>(detail::at_eighths(index) + (index << 20));
  const f32v slope = fma(fma(r, f32v(0.16666858f), f32v(0.50006447f)), r, f32v(1.0f));
  return fma(power * r, slope, power);
}
#else
/// exp(x) for x <= 88, within 2 units in the last place. Below -87.7 it is zero. NaN stays NaN.
///
///   x = n ln 2 + f, |f| <= ln 2 / 2:  exp(x) = 2^n (1 + g),  g = f + f^2 q(f)
///
/// Among cubic polynomials q gives the least relative error of exp, 1.1e-7. It is summed in pairs, and 2^n (1 + g) is one
/// fused operation, so that the chain of dependent operations is short.
inline f32v exp_bounded(f32v x) noexcept {
  const f32v magic(12583039.0f);     // 1.5 * 2^23 + 127: adding it leaves n and the bias of exponents in the low bits
  const f32v y = max(f32v(-88), x);  // at this bound n = -127, so the power is zero
  const f32v shifted = fma(y, f32v(1.44269504f), magic);
  const f32v n = shifted - magic;
  const f32v f = fma(n, f32v(-1.42860677e-6f), fma(n, f32v(-0.693145752f), y));
  const f32v square = f * f;
  const f32v q =
      fma(fma(f, f32v(8.3124675e-3f), f32v(4.1890256e-2f)), square, fma(f, f32v(0.16667116f), f32v(0.4999923f)));
  const f32v g = fma(square, q, f);
  const f32v power = bitcast<f32v>(bitcast<i32v>(shifted) << 23);
  return fma(g, power, power);
}
#endif

/// The hyperbolic tangent within 4 units in the last place, in a third of the time of xsimd's function. NaN stays NaN.
///
///   tanh(x) = x p(x^2) / q(x^2) for |x| < 8, above which it rounds to 1; x itself for |x| < 0.0004
///
/// source  the rational function of Eigen and XLA, so that results agree with JAX's on CPUs
inline f32v tanh_rational(f32v x) noexcept {
#if defined(__x86_64__) && !defined(__FMA__)
  const f32v end(7.90531110763549805f);  // from here on the quotient is 1, even if each step rounds twice
#else
  const f32v end(7.99881172180175781f);
#endif
  const f32v a = min(end, max(-end, x));  // both give their second operand when one is NaN
  const f32v s = a * a;
  f32v p = fma(s, f32v(-2.76076847742355e-16f), f32v(2.00018790482477e-13f));
  p = fma(p, s, f32v(-8.60467152213735e-11f));
  p = fma(p, s, f32v(5.12229709037114e-08f));
  p = fma(p, s, f32v(1.48572235717979e-05f));
  p = fma(p, s, f32v(6.37261928875436e-04f));
  p = fma(p, s, f32v(4.89352455891786e-03f));
  f32v q = fma(s, f32v(1.19825839466702e-06f), f32v(1.18534705686654e-04f));
  q = fma(q, s, f32v(2.26843463243900e-03f));
  q = fma(q, s, f32v(4.89352518554385e-03f));
  return select(abs(x) < f32v(0.0004f), x, a * p / q);
}

}  // namespace tokamax::cpu_backend
