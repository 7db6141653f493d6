// tokamax/backend/cpu/gemm/coded_matrix.hpp: packed weights as numbers in registers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/quantized/packed_dot.cpp
#pragma once

#include <tokamax/backend/cpu/vector/narrow.hpp>     // load_int8, load_float8_e4m3fn
#include <tokamax/backend/cpu/vector/pack.hpp>       // load_floats
#include <tokamax/backend/cpu/vector/simd.hpp>       // f32v, fma
#include <tokamax/ops/quantized/packed_weights.hpp>  // packed_format

#include <algorithm>    // min
#include <cstdint>      // int64_t
#include <type_traits>  // integral_constant

namespace tokamax::cpu_backend {

/// One matrix [k, n] of packed weights.
struct coded_matrix {
  packed_format format;
  std::int64_t k, n, groups;
  bool half;                ///< are scales and offsets f16, not f32?
  const void* codes;        ///< [panels, k, 64] bytes, or [panels, k / 8, 64] words
  const std::byte* scale;   ///< [panels, groups, 64]
  const std::byte* offset;  ///< the same, or null
};

namespace detail {

inline constexpr std::int64_t coded_columns = tokamax::detail::packed_columns;

/// Some columns of a panel.
struct coded_columns_of_panel {
  const std::int8_t* bytes;  ///< the codes of the first term, as bytes or as words
  const std::uint32_t* words;
  const std::byte* scale;
  const std::byte* offset;
  std::int64_t size;   ///< bytes of a scale
  std::int64_t group;  ///< terms that share a scale

  coded_columns_of_panel(const coded_matrix& w, std::int64_t column) noexcept
      : size(w.half ? 2 : 4), group(w.groups > 0 ? w.k / w.groups : w.k) {
    const std::int64_t panel = column / coded_columns, within = column % coded_columns;
    const std::int64_t codes = panel * tokamax::detail::packed_steps(w.format, w.k) * coded_columns + within;
    const std::int64_t scales = (panel * w.groups * coded_columns + within) * size;
    bytes = static_cast<const std::int8_t*>(w.codes) + codes;
    words = static_cast<const std::uint32_t*>(w.codes) + codes;
    scale = w.scale + scales;
    offset = w.offset == nullptr ? nullptr : w.offset + scales;
  }
};

/// Scales of f32 or f16 from place `at` on.
inline f32v load_scale(const std::byte* p, std::int64_t at, std::int64_t size) noexcept {
  p += at * size;
  if (size == 4) return load(reinterpret_cast<const float*>(p));
#if defined(__AVX512F__)
  return f32v(_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#else
  return load_floats(reinterpret_cast<const float16*>(p));
#endif
}

/// table[the low four bits of each lane]; the higher bits may have anything.
inline f32v look_up_nibbles(const float* table, i32v index) noexcept {
#if defined(__AVX512F__)
  return f32v(_mm512_maskz_permutexvar_ps(0xffff, index.data, _mm512_loadu_ps(table)));
#elif defined(__AVX2__)
  const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), index.data);
  const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), index.data);
  return f32v(_mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(index.data, 28))));
#else
  return gather(table, index & i32v(15));
#endif
}

/// Codes of 4 bits, of term t of their words, as floats.
template <packed_format F>
[[gnu::always_inline]] inline f32v nibble_as_float(i32v word, int t) noexcept {
  if constexpr (F == packed_format::int_4)
    return xsimd::to_float((word << (28 - 4 * t)) >> 28);
  else if constexpr (F == packed_format::uint_4)
    return xsimd::to_float((word >> 4 * t) & i32v(15));
  else
    return look_up_nibbles(tokamax::detail::levels_of(F), word >> 4 * t);
}
/// `width` codes of 8 bits as floats.
template <packed_format F>
[[gnu::always_inline]] inline f32v bytes_as_floats(const std::int8_t* p) noexcept {
  if constexpr (F == packed_format::fp8)
    return load_float8_e4m3fn(p);
  else
    return xsimd::to_float(load_int8(p));
}

/// `each_coded_term` for weights with or without offsets, which would take registers.
template <packed_format F, int Vectors, bool Offset, class Use>
[[gnu::always_inline]] inline void each_coded_term_of(const coded_columns_of_panel& from, std::int64_t first,
                                                      std::int64_t end, Use use) noexcept {
  std::int64_t group = first / from.group;
  for (std::int64_t k = first; k < end; ++group) {
    const std::int64_t stop = std::min(end, (group + 1) * from.group);
    f32v scale[Vectors];
    [[maybe_unused]] f32v offset[Vectors];
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      const std::int64_t at = group * coded_columns + v * width;
      scale[v] = load_scale(from.scale, at, from.size);
      // -0 changes no number, not even a zero
      offset[v] = from.offset == nullptr ? f32v(-0.0f) : load_scale(from.offset, at, from.size);
    }
    const auto number = [&](int v, f32v code) __attribute__((always_inline)) {
      if constexpr (Offset)
        return fma(code, scale[v], offset[v]);
      else
        return code * scale[v];
    };
    if constexpr (tokamax::detail::bits_of(F) == 8) {
      for (; k < stop; ++k) {
#pragma GCC unroll 16
        for (int v = 0; v < Vectors; ++v)
          use(k, v, number(v, bytes_as_floats<F>(from.bytes + k * coded_columns + v * width)));
      }
    } else {
      const auto word = [&](auto terms) __attribute__((always_inline)) {
        const int count = terms;
        constexpr int part = Vectors < 4 ? Vectors : 4;  // words that stay in registers for eight terms
        const auto* const p = reinterpret_cast<const std::int32_t*>(from.words + k / 8 * coded_columns);
#pragma GCC unroll 4
        for (int u = 0; u < Vectors; u += part) {
          i32v bits[part];
          for (int v = 0; v < part; ++v) bits[v] = load<i32v>(p + (u + v) * width);
#pragma GCC unroll 8
          for (int t = 0; t < count; ++t) {
#pragma GCC unroll 4
            for (int v = 0; v < part; ++v) use(k + t, u + v, number(u + v, nibble_as_float<F>(bits[v], t)));
          }
        }
      };
      for (; k + 8 <= stop; k += 8) word(std::integral_constant<int, 8>());
      if (k < stop) word(static_cast<int>(stop - k)), k = stop;
    }
  }
}

/// Calls use(k, v, w) for the terms k in [first, end) of each of Vectors registers of columns, where w are the numbers
/// code * scale + offset with one rounding; first is a multiple of 8. They do not depend on which columns are asked for together.
template <packed_format F, int Vectors, class Use>
[[gnu::always_inline]] inline void each_coded_term(const coded_columns_of_panel& from, std::int64_t first,
                                                   std::int64_t end, Use use) noexcept {
  constexpr bool may_have_offset = F == packed_format::int_8 || F == packed_format::uint_4;
  if (may_have_offset && from.offset != nullptr)
    each_coded_term_of<F, Vectors, may_have_offset>(from, first, end, use);
  else
    each_coded_term_of<F, Vectors, false>(from, first, end, use);
}

/// Calls f with the format as a constant.
template <class F>
void for_format(packed_format format, F f) {
  using enum packed_format;
  if (format == int_8) return f(std::integral_constant<packed_format, int_8>());
  if (format == int_4) return f(std::integral_constant<packed_format, int_4>());
  if (format == uint_4) return f(std::integral_constant<packed_format, uint_4>());
  if (format == fp8) return f(std::integral_constant<packed_format, fp8>());
  if (format == fp4) return f(std::integral_constant<packed_format, fp4>());
  return f(std::integral_constant<packed_format, nf4>());
}

/// Writes panels of floats, as `panel_source` has it. The context is a coded_matrix.
inline void fill_panels_of_codes(const void* context, float* to, std::int64_t p, std::int64_t steps,
                                 std::int64_t column, std::int64_t panel_width, std::int64_t panels) noexcept {
  const auto& w = *static_cast<const coded_matrix*>(context);
  constexpr int together = width > 8 ? 1 : 2;  // registers: at most 16 columns, which divide every panel
  for_format(w.format, [&](auto format) {
    for (std::int64_t j = 0; j < panels * panel_width; j += together * width) {
      float* const panel = to + j / panel_width * panel_width * steps + j % panel_width - p * panel_width;
      if (column + j >= w.n) {  // columns of zeros behind the last one
        for (std::int64_t k = p; k < p + steps; ++k)
          for (int v = 0; v < together; ++v) store(panel + k * panel_width + v * width, f32v(0.0f));
        continue;
      }
      each_coded_term<decltype(format)::value, together>(
          coded_columns_of_panel(w, column + j), p, p + steps,
          [&](std::int64_t k, int v, f32v numbers) { store(panel + k * panel_width + v * width, numbers); });
    }
  });
}

}  // namespace detail
}  // namespace tokamax::cpu_backend
