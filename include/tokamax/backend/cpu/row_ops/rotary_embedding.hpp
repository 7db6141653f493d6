// tokamax/backend/cpu/row_ops/rotary_embedding.hpp: turns pairs of features by angles that are computed once for all heads.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/rotary_embedding.cpp
#pragma once

#include <tokamax/backend/cpu/vector/rows.hpp>  // for_vectors, for_written_chunks, passes_caches

#include <cmath>        // pow
#include <cstdint>      // int64_t
#include <cstring>      // memcpy
#include <type_traits>  // is_same_v

namespace tokamax::cpu_backend {

/// Rows of heads, and the options of their rotation.
struct rotary_rows {
  std::int64_t rows, heads, features;
  double base = 10000.0;
  bool interleaved = false, inverse = false;
};

namespace detail {
/// The cosine and sine of position * frequency[0 ... width) quarter turns, for any position. Whole quarters are subtracted
/// in double, and Taylor series within an eighth of a turn are exact to f32.
inline void turn(double position, const double* frequency, float* cosine, float* sine) noexcept {
  using doubles = vector_t<double, f32v::size>;
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the nearest integer in the low bits
  constexpr double half_pi = 1.57079632679489661923;
  doubles quarters;
  std::memcpy(&quarters, frequency, sizeof quarters);
  quarters *= position;
  const doubles shifted = quarters + magic;
  const doubles rest = (quarters - (shifted - magic)) * half_pi;
  const auto bits = __builtin_bit_cast(vector_t<std::int64_t, f32v::size>, shifted);
  const f32v a = from_native<f32v>(__builtin_convertvector(rest, native_t<f32v>));
  const auto n = from_native<u32v>(__builtin_convertvector(bits, native_t<u32v>));

  const f32v s = a * a;
  f32v sin_a = fma(s, f32v(1.0f / 362880), f32v(-1.0f / 5040)), cos_a = fma(s, f32v(1.0f / 40320), f32v(-1.0f / 720));
  sin_a = fma(sin_a, s, f32v(1.0f / 120));
  cos_a = fma(cos_a, s, f32v(1.0f / 24));
  sin_a = fma(fma(sin_a, s, f32v(-1.0f / 6)), s * a, a);
  cos_a = fma(fma(cos_a, s, f32v(-0.5f)), s, f32v(1.0f));

  // n quarters more: cos, -sin, -cos, sin and sin, cos, -sin, -cos
  const u32v one(1u), two(2u);
  const mask odd = to_mask((n & one) == one);
  const u32v x = bitcast<u32v>(select(odd, sin_a, cos_a)), y = bitcast<u32v>(select(odd, cos_a, sin_a));
  store(cosine, bitcast<f32v>(x ^ (((n + one) & two) << 30)));
  store(sine, bitcast<f32v>(y ^ ((n & two) << 30)));
}

/// Swaps neighbouring lanes.
inline f32v swap_pairs(f32v v) noexcept {
  const auto pairs = __builtin_bit_cast(vector_t<std::uint64_t, f32v::size / 2>, v.data);
  return f32v(__builtin_bit_cast(f32v::register_type, pairs << 32 | pairs >> 32));
}

/// cosine and sine [half]
template <class Whole, class From, class To>
void rotate_halves(const From* x, std::int64_t half, const float* cosine, const float* sine, To* y) noexcept {
  for_vectors<Whole>(half, [=](std::int64_t j, auto lanes) {
    const f32v a = lanes(x + j), b = lanes(x + half + j), c = load(cosine + j), s = load(sine + j);
    lanes.put(y + j, fma(a, c, -(b * s)));
    lanes.put(y + half + j, fma(b, c, a * s));
  });
}
/// cosine (c, c) and sine (-s, s) for each pair
template <class Whole, class From, class To>
void rotate_pairs(const From* x, std::int64_t features, const float* cosine, const float* sine, To* y) noexcept {
  for_vectors<Whole>(features, [=](std::int64_t j, auto lanes) {
    const f32v v = lanes(x + j);
    lanes.put(y + j, fma(v, load(cosine + j), swap_pairs(v) * load(sine + j)));
  });
}

struct rotary_frequencies;
struct rotary_turns;
}  // namespace detail

/// Turns pair i of the features of each head of row r by position(r) * base^(-2i / features).
///
/// shapes  x(r) points to heads [heads, features], `stride` elements apart; y [rows, heads, features] dense, not x
/// dtypes  f32 or bfloat16, computed in f32; position(r) is an integer
/// source  Su et al. 2021, arXiv:2104.09864, eq. 34
template <class To, class X, class Position>
void rotary_embedding(const rotary_rows& of, X x, std::int64_t stride, Position position, To* y) {
  const std::int64_t features = of.features, cols = of.heads * features;
  const std::int64_t angles = (of.interleaved ? features : features / 2) + width - 1;  // to the end of the last vector
  auto* const frequency = scratch<detail::rotary_frequencies, double>(angles);         // quarter turns
  const double unit = (of.inverse != of.interleaved ? -2 : 2) / 3.14159265358979323846;
  for (std::int64_t i = 0; i < angles; ++i) {
    const auto pair = static_cast<double>(of.interleaved ? i / 2 : i);
    frequency[i] = of.interleaved && i % 2 == 1 ? -frequency[i - 1]  // neighbours have sines of opposite sign
                                                : unit * std::pow(of.base, -2 * pair / static_cast<double>(features));
  }
  bool streamed = false;
  if constexpr (std::is_same_v<To, float>) streamed = features / 2 % width == 0 && passes_caches(of.rows, cols, y);
  for_written_chunks(of.rows, cols, streamed, [=](std::int64_t begin, std::int64_t end, auto whole) {
    float* const cosine = scratch<detail::rotary_turns>(2 * angles);
    float* const sine = cosine + angles;
    for (std::int64_t r = begin; r < end; ++r) {
      const auto at = static_cast<double>(position(r));
      for (std::int64_t i = 0; i + width <= angles; i += width) detail::turn(at, frequency + i, cosine + i, sine + i);
      const auto* const from = x(r);
      for (std::int64_t h = 0; h < of.heads; ++h) {
        To* const to = y + r * cols + h * features;
        if (of.interleaved)
          detail::rotate_pairs<decltype(whole)>(from + h * stride, features, cosine, sine, to);
        else
          detail::rotate_halves<decltype(whole)>(from + h * stride, features / 2, cosine, sine, to);
      }
    }
  });
}

}  // namespace tokamax::cpu_backend
