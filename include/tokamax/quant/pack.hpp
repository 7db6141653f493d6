// tokamax/quant/pack.hpp: makes packed weights, once, of floats or of a quantised array.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/ops/quantized/packed_dot.hpp>  // packed_weights
#include <tokamax/ops/quantized/quantize.hpp>    // quantize

namespace tokamax::quant {

/// How floats are packed: `pack(w, {.format = packed_format::int_4, .group = 32})`.
struct pack_options {
  packed_format format = packed_format::int_8;
  std::int64_t group = 0;   ///< so many terms of a column share a scale; 0: all of them
  dtype scale_dtype = f32;  ///< of scales and offsets: f32 or f16, to which they are rounded at last
};

namespace detail {
using tokamax::detail::packed_columns, tokamax::detail::packed_nibbles, tokamax::detail::packed_panels;

/// [B, T, N] in panels [B, P, T, 64]; what the last panel lacks is zero.
constexpr array in_panels(const array& x, source_line l) {
  const std::int64_t b = x.extent(0), t = x.extent(1), n = x.extent(2), p = packed_panels(n);
  const array all = pad(x, array(0, {x.dtype(), false, {}}), {0, 0, 0}, {0, 0, p * packed_columns - n}, {}, l);
  return transpose(reshape(all, {b, t, p, packed_columns}, l), {0, 2, 1, 3}, l);
}
/// Codes u32 [B, K, N] below 16 as words [B, P, K / 8, 64].
constexpr array in_words(const array& x, source_line l) {
  const std::int64_t b = x.extent(0), k = x.extent(1), n = x.extent(2), w = (k + packed_nibbles - 1) / packed_nibbles;
  const array all = pad(x, array(0, {u32, false, {}}), {0, 0, 0}, {0, w * packed_nibbles - k, 0}, {}, l);
  const array split = reshape(all, {b, w, packed_nibbles, n}, l);
  array word = zeros({b, w, n}, u32, l);
  for (std::int64_t t = 0; t < packed_nibbles; ++t) {
    const array at = reshape(slice(split, {0, 0, t, 0}, {b, w, t + 1, n}, {}, l), {b, w, n}, l);
    word = bitwise_or(word, shift_left(at, array(4 * t, {u32, false, {}}), l), l);
  }
  return in_panels(word, l);
}
/// Scales or offsets of tiles, [B, G, 1] or [B, G, N], for each column.
constexpr array of_columns(const array& x, std::int64_t n, source_line l) {
  return in_panels(astype(broadcast_to(x, {x.extent(0), x.extent(1), n}, l), f32, l), l);
}
/// The same weights with scales and offsets of another dtype.
constexpr packed_weights with_scales(packed_weights w, dtype type, source_line l) {
  w.scale = astype(w.scale, type, l);
  if (w.has_offset()) w.offset = astype(w.offset, type, l);
  return w;
}
/// One matrix as a batch of one.
constexpr array as_batch(const array& x, source_line l) { return x.rank() == 2 ? expand_dims(x, 0, l) : x; }
/// Codes u32 of the numbers of fp4 that are nearest to x; of two equally near ones the one whose last bit is 0.
constexpr array fp4_codes(const array& x, source_line l) {
  const float* const levels = tokamax::detail::fp4_levels;
  const array magnitude = abs(x, l);
  array code = astype(x < 0.0f, u32, l) * array(8, {u32, false, {}});
  for (int i = 0; i < 7; ++i) {
    const float between = (levels[i] + levels[i + 1]) / 2;
    code = code + astype(i % 2 == 0 ? magnitude > between : magnitude >= between, u32, l);
  }
  return code;
}
/// Codes u32 of the levels of nf4 that are nearest to x.
constexpr array nf4_codes(const array& x, source_line l) {
  array code = zeros(x.shape(), u32, l);
  for (int i = 0; i < 15; ++i)
    code = code + astype(x > (tokamax::detail::nf4_levels[i] + tokamax::detail::nf4_levels[i + 1]) / 2, u32, l);
  return code;
}
/// The integers or floats to which `quantize` rounds; dtype::none for the levels that it does not have.
constexpr dtype rounded_dtype(packed_format f) {
  using enum packed_format;
  return f == int_8 ? i8 : f == int_4 ? i4 : f == uint_4 ? u4 : f == fp8 ? f8e4m3fn : dtype::none;
}
}  // namespace detail

/// Packs integers of 8 or 4 bits, or floats of 8, with scales of a tensor, of columns, or of groups of terms. With zero points,
/// offset is -zero_point * scale.
///
/// shapes  qvalue [K, N] or [B, K, N]; groups have a multiple of 8 terms
/// dtypes  qvalue i8, i4, u4 or f8e4m3fn
/// errors  "pack: matrix", "pack: dtype", "pack: group"; those of dequantize
constexpr packed_weights pack(const quantized_array& w, source_line l = source_line::current()) {
  const array& q = w.qvalue;
  if (!tokamax::detail::quantized_fits(w, l)) return {};
  const auto wrong = [&](const char* what, const message& found, const message& expected) {
    reject(q, l, what, found, expected);
    return packed_weights{};
  };
  if (q.rank() != 2 && q.rank() != 3) return wrong("pack: matrix", q.type(), "[K,N] or [B,K,N]");
  if (q.dtype() != i8 && q.dtype() != i4 && q.dtype() != u4 && q.dtype() != f8e4m3fn)
    return wrong("pack: dtype", q.type(), "i8, i4, u4 or f8e4m3fn");
  const array all = detail::as_batch(q, l), scale = detail::as_batch(w.scale, l);
  const std::int64_t b = all.extent(0), k = all.extent(1), n = all.extent(2), g = scale.extent(1);
  if ((scale.extent(0) != b && scale.extent(0) != 1) || (scale.extent(2) != n && scale.extent(2) != 1) ||
      (g != 1 && (g < 1 || k % g != 0 || k / g % detail::packed_nibbles != 0)))
    return wrong("pack: group", w.scale.type(),
                 "scales of tensors, columns, or groups of a multiple of 8 terms of a column");
  const auto of_batch = [&](const array& x) {
    return detail::of_columns(broadcast_to(x, {b, g, x.extent(2)}, l), n, l);
  };
  packed_weights y{.format = packed_format::int_8, .rows = k, .columns = n, .codes = {}, .scale = of_batch(scale)};
  const bool zero = w.has_zero_point(), four = q.dtype() == i4;
  if (zero) {  // i4 with zero points is u4 with others
    const array point = astype(detail::as_batch(w.zero_point, l), f32, l) + (four ? 8.0f : 0.0f);
    y.offset = of_batch(-point * astype(scale, f32, l));
  }
  if (q.dtype() == i8 || q.dtype() == f8e4m3fn) {
    if (q.dtype() == f8e4m3fn) y.format = packed_format::fp8;
    y.codes = detail::in_panels(all, l);
    return y;
  }
  y.format = four && !zero ? packed_format::int_4 : packed_format::uint_4;
  const array code = astype(astype(all, i32, l) + (four && zero ? 8 : 0), u32, l);
  y.codes = detail::in_words(bitwise_and(code, array(15, {u32, false, {}}), l), l);
  return y;
}

/// Rounds floats to a format and packs them: int_8, int_4 and fp8 as `quantize` does, uint_4 asymmetric, nf4 to the nearest level of
/// x / max |x|, fp4 to the nearest number of 6 x / max |x|.
///
/// shapes  w [K, N] or [B, K, N]
/// errors  "pack: matrix", "pack: group", "pack: scale_dtype"; those of quantize
/// source  qwix.quantize; QLoRA (Dettmers et al. 2023, arXiv:2305.14314) for nf4
constexpr packed_weights pack(const array& w, const pack_options& o = {}, source_line l = source_line::current()) {
  const bool matrix = w.rank() == 2 || w.rank() == 3;
  if (!matrix || !is_floating(w.dtype()) || is_dyn(w.extent(w.rank() - 2))) {
    reject(w, l, "pack: matrix", w.type(), "floats [K,N] or [B,K,N]");
    return {};
  }
  const array all = detail::as_batch(w, l);
  const std::int64_t k = all.extent(1), n = all.extent(2), group = o.group == 0 ? k : o.group;
  if (o.scale_dtype != f32 && o.scale_dtype != f16) {
    reject(w, l, "pack: scale_dtype", name(o.scale_dtype), "f32 or f16");
    return {};
  }
  if (group != k && (group <= 0 || k % group != 0 || group % detail::packed_nibbles != 0)) {
    reject(w, l, "pack: group", message() << o.group, message("a multiple of 8 that divides ") << k);
    return {};
  }
  if (const dtype t = detail::rounded_dtype(o.format); t != dtype::none)
    return detail::with_scales(pack(quantize(all, {.type = t, .tiles = {1, o.group, 1}, .asymmetric = t == u4}, l), l),
                               o.scale_dtype, l);
  const bool four = o.format == packed_format::fp4;
  const std::int64_t b = all.extent(0), g = group == 0 ? 1 : k / group;
  const array split = reshape(astype(all, f32, l), {b, g, k == 0 ? 0 : group, n}, l);
  array scale = k == 0 ? zeros({b, 1, 1, n}, f32, l) : max(abs(split, l), {{2}, true}, l);
  if (four) scale = scale / tokamax::detail::fp4_levels[7];
  scale = select(scale == 0.0f, ones_like(scale), scale, l);
  const array x = split / broadcast_to(scale, split.shape(), l);
  const array code = four ? detail::fp4_codes(x, l) : detail::nf4_codes(x, l);
  return detail::with_scales({.format = o.format,
                              .rows = k,
                              .columns = n,
                              .codes = detail::in_words(reshape(code, {b, k, n}, l), l),
                              .scale = detail::of_columns(reshape(scale, {b, g, n}, l), n, l)},
                             o.scale_dtype, l);
}

}  // namespace tokamax::quant
