// tokamax/ops/quantized/packed_weights.hpp: matrices of 8 or 4 bits in the order in which products read them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
// tested by tests/ops/quantized/packed_dot.cpp
#pragma once

#include <tokamax/lax/elementwise/bitwise.hpp>        // shift_right_logical, bitwise_and
#include <tokamax/lax/indexing/slice.hpp>             // slice
#include <tokamax/ops/quantized/fp4_levels.hpp>       // fp4_levels
#include <tokamax/ops/quantized/quantized_array.hpp>  // no_zero_point

namespace tokamax {

/// The numbers that packed weights are made of.
enum class packed_format : std::uint8_t {
  int_8,   ///< -128 to 127
  int_4,   ///< -8 to 7
  uint_4,  ///< 0 to 15
  nf4,     ///< the 16 levels of QLoRA, of equal weight under a normal distribution from -1 to 1
  fp8,     ///< floats f8e4m3fn
  fp4      ///< floats e2m1, the 16 numbers of MXFP4: 0, 0.5, 1, 1.5, 2, 3, 4, 6, and those with the other sign
};

namespace detail {
/// Columns of a panel: 64 bytes, a line of the caches, have a term of 8 bits for each.
inline constexpr std::int64_t packed_columns = 64;
/// Terms in a word of 32 bits.
inline constexpr std::int64_t packed_nibbles = 8;
/// source  Dettmers et al. 2023, arXiv:2305.14314, appendix E
inline constexpr float nf4_levels[16] = {
    -1.0f,      -0.6961928f, -0.52507305f, -0.3949175f, -0.28444138f, -0.18477343f, -0.091050036f, 0.0f,
    0.0795803f, 0.1609302f,  0.2461123f,   0.33791524f, 0.44070983f,  0.562617f,    0.72295684f,   1.0f};
/// The numbers of codes of 4 bits that are no integers.
constexpr const float* levels_of(packed_format f) { return f == packed_format::fp4 ? fp4_levels : nf4_levels; }
constexpr dtype code_dtype(packed_format f) {
  return f == packed_format::int_8 ? i8 : f == packed_format::fp8 ? f8e4m3fn : u32;
}
constexpr int bits_of(packed_format f) { return code_dtype(f) == u32 ? 4 : 8; }
/// Elements of the codes of a column of k terms.
constexpr std::int64_t packed_steps(packed_format f, std::int64_t k) {
  return bits_of(f) == 8 ? k : (k + packed_nibbles - 1) / packed_nibbles;
}
constexpr std::int64_t packed_panels(std::int64_t columns) { return (columns + packed_columns - 1) / packed_columns; }
}  // namespace detail

/// Matrices [K, N] of few bits, whose numbers are code * scale + offset. The columns are cut into P panels of 64, each of which
/// lies from its first term to its last, so that a product reads memory from front to back. Four bits take four bits: a word
/// has eight terms of a column, the first in its lowest bits. `quant::pack` makes it, and `packed_dot` multiplies with it.
///
/// shapes  codes i8 or f8e4m3fn [B, P, K, 64], or u32 [B, P, K / 8 rounded up, 64] for 4 bits; scale and offset [B, P, G, 64], where
///         K / G terms, a multiple of 8, share one, or all do; B matrices
/// dtypes  scale and offset f32, or both f16, which halves what products of small groups read beside the codes
struct packed_weights {
  packed_format format = packed_format::int_8;
  std::int64_t rows = 0, columns = 0;  ///< K, N
  array codes, scale;
  array offset = detail::no_zero_point();  ///< of extents [0]: there is none; only int_8 and uint_4 may have one

  constexpr bool has_offset() const { return offset.rank() == 4; }
};

namespace detail {
/// One entry for each group of terms, [B, P, G, 64], as f32, repeated for all `terms` terms.
constexpr array repeated_in_groups(const array& x, std::int64_t terms, source_line l) {
  const std::int64_t b = x.extent(0), p = x.extent(1), g = x.extent(2), n = x.extent(3);
  return reshape(broadcast_in_dim(astype(x, f32, l), {b, p, g, terms / g, n}, {0, 1, 2, 4}, l), {b, p, terms, n}, l);
}
/// The codes of 4 bits as f32, [B, P, 8 W, 64] from [B, P, W, 64].
constexpr array unpacked_nibbles(const array& words, packed_format f, source_line l) {
  const shape s{words.extent(0), words.extent(1), words.extent(2), packed_nibbles, words.extent(3)};
  const array place = shift_left(iota(u32, s, 3, l), array(2, {u32, false, {}}), l);
  const array all = shift_right_logical(broadcast_in_dim(words, s, {0, 1, 2, 4}, l), place, l);
  const array code = reshape(astype(bitwise_and(all, array(15, {u32, false, {}}), l), f32, l),
                             {s[0], s[1], mul_extent(s[2], packed_nibbles), s[4]}, l);
  if (f == packed_format::uint_4) return code;
  if (f == packed_format::int_4) return select(code < 8.0f, code, code - 16.0f, l);
  const float* const levels = levels_of(f);
  array level = full_like(code, levels[0]);
  for (int i = 1; i < 16; ++i) level = select(code >= static_cast<float>(i), full_like(code, levels[i]), level, l);
  return level;
}
/// The numbers of columns in panels, f32 [B, P, K rounded up, 64].
constexpr array unpacked_panels(const array& codes, const array& scale, const array& offset, packed_format f,
                                source_line l) {
  const array w = bits_of(f) == 8 ? astype(codes, f32, l) : unpacked_nibbles(codes, f, l);
  const array scaled = w * repeated_in_groups(scale, w.extent(2), l);
  return offset.exists() ? scaled + repeated_in_groups(offset, w.extent(2), l) : scaled;
}
/// The same as matrices f32 [B, K, N].
constexpr array unpacked(const array& codes, const array& scale, const array& offset, packed_format f, std::int64_t k,
                         std::int64_t n, source_line l) {
  array w = unpacked_panels(codes, scale, offset, f, l);
  const std::int64_t b = w.extent(0), p = w.extent(1), terms = w.extent(2);
  w = reshape(transpose(w, {0, 2, 1, 3}, l), {b, terms, p * packed_columns}, l);
  return slice(w, {0, 0, 0}, {b, k, n}, {}, l);
}
}  // namespace detail

/// The numbers that packed weights stand for, as f32 [B, K, N].
constexpr array unpack(const packed_weights& w, source_line l = source_line::current()) {
  return detail::unpacked(w.codes, w.scale, w.has_offset() ? w.offset : array(), w.format, w.rows, w.columns, l);
}

}  // namespace tokamax
