// tokamax/ops/quantized/quantize.hpp: makes quantised arrays of floats.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/lax/elementwise/unary.hpp>          // round, abs
#include <tokamax/lax/reduce.hpp>                     // max, min
#include <tokamax/lax/stop_gradient.hpp>              // stop_gradient
#include <tokamax/numpy/clip.hpp>                     // clip
#include <tokamax/ops/quantized/quantized_array.hpp>  // quantized_array

namespace tokamax {

/// How quantize is asked to behave: `quantize(w, {.type = i4, .tiles = {128, 1}})`.
struct quantize_options {
  static constexpr std::int64_t whole_axis = 0;
  dtype type = i8;
  shape tiles = {};  ///< for each axis how many elements share a scale, whole_axis: all of it; none: one scale for all
  bool asymmetric =
      false;  ///< with a zero point, so that the least and the greatest number use all values; integers only
};

/// A value that has no derivative: what asks for one is refused, instead of getting a zero.
inline constexpr op quantized_scale_p{
    .name = "quantized_scale",
    .memory = {.kind = op_kind::alias},
    .infer = detail::identity_infer,
    .vjp = [](const call& c) -> arrays {
      c.fail("quantize: gradient", c[0].type(), "no gradient; use fake_quantize or stop_gradient");
      return arrays();
    },
    .jvp = [](const call& c) -> arrays {
      c.fail("quantize: gradient", c[0].type(), "no gradient; use fake_quantize or stop_gradient");
      return arrays();
    },
    .batch = detail::identity_batch,
};

namespace detail {
constexpr array quantized_scale(const array& x, source_line l) {
  if (x.is_concrete()) return x;
  return bind(described<quantized_scale_p>(), {x}, words{}, l);
}

/// The least and the greatest finite number of a dtype of at most 8 bits.
struct quantized_range {
  double least, greatest;
  constexpr quantized_range(dtype t) : least(0), greatest(0) {
    if (is_floating(t)) {
      greatest = t == f8e4m3fn ? 448 : 57344;
      least = -greatest;
    } else {
      const int bits = bits_of(t) - (is_signed(t) ? 1 : 0);
      greatest = static_cast<double>((std::int64_t{1} << bits) - 1);
      least = is_signed(t) ? -greatest - 1 : 0;
    }
  }
};

/// x with each axis of several tiles as two, and the axes along which elements share a scale.
struct tiled_array {
  array split;
  axes within;
  shape scale;  ///< of one scale for each tile
  constexpr tiled_array(const array& x, const shape& tiles, source_line l) {
    shape s;
    for (int i = 0; i < x.rank(); ++i) {
      const std::int64_t n = x.extent(i), tile = tiles.rank() == 0 || tiles[i] == 0 ? n : tiles[i];
      const std::int64_t count = tile == n ? 1 : tile == 1 ? n : n / tile;
      scale.push_back(count);
      if (count != 1 && tile != 1) s.push_back(count);
      if (tile != 1 || count == 1) within.push_back(s.rank());
      s.push_back(tile == 1 ? n : tile);
    }
    split = reshape(x, s, l);
  }
};
/// Rejects options that do not fit x. False if it has.
constexpr bool quantize_fits(const array& x, const quantize_options& o, source_line l) {
  const auto wrong = [&](const char* what, const message& found, const message& expected) {
    reject(x, l, what, found, expected);
    return false;
  };
  if (!is_floating(x.dtype())) return wrong("quantize: x", x.type(), "floats");
  if (!is_quantized(o.type)) return wrong("quantize: type", name(o.type), "a dtype of at most 8 bits");
  if (o.asymmetric && !is_integer(o.type)) return wrong("quantize: type", name(o.type), "integers for a zero point");
  bool tiles = o.tiles.rank() == 0 || o.tiles.rank() == x.rank();
  for (int i = 0; tiles && i < o.tiles.rank(); ++i)
    tiles = o.tiles[i] == 0 || o.tiles[i] == 1 || (o.tiles[i] > 0 && x.extent(i) >= 0 && x.extent(i) % o.tiles[i] == 0);
  return tiles || wrong("quantize: tiles", message() << o.tiles, message("divisors of the extents of ") << x.type());
}
/// The scales of tiles, and their zero points if they have some.
constexpr quantized_array scales_of(const array& x, const quantize_options& o, source_line l) {
  const dtype t = carrying(x.dtype());
  const tiled_array tiled(astype(x, t, l), o.tiles, l);
  const quantized_range range(o.type);
  const array zero(0.0, {t, false, {}}), one(1.0, {t, false, {}});
  const auto nonzero = [&](const array& scale) {
    return reshape(select(scale == zeros_like(scale), one, scale, l), tiled.scale, l);
  };
  quantized_array y;
  if (x.size() == 0) {  // there is no greatest number
    y.scale = array(1.0, {t, false, tiled.scale});
    if (o.asymmetric) y.zero_point = zeros_like(y.scale);
    return y;
  }
  if (!o.asymmetric) {
    const double half = is_integer(o.type) ? 0.5 : 0.0;
    const array most = max(abs(tiled.split, l), {tiled.within, true}, l);
    y.scale = quantized_scale(nonzero(most / (range.greatest + half)), l);
    return y;
  }
  const array low = minimum(min(tiled.split, {tiled.within, true}, l), zero, l);
  const array high = maximum(max(tiled.split, {tiled.within, true}, l), zero, l);
  y.scale = quantized_scale(nonzero((high - low) / (range.greatest - range.least)), l);
  y.zero_point = round(range.least - reshape(low, tiled.scale, l) / y.scale, l);
  return y;
}
}  // namespace detail

/// The nearest quantised array to x, with scales from its greatest magnitudes.
///
///   symmetric   scale = max |x| / (greatest value + 1/2 for integers);  qvalue = round(x / scale)
///   asymmetric  scale = (max x - min x) / (number of values - 1), 0 among them;  zero_point = round(least - min x / scale)
///
/// A tile of zeros has the scale 1. Halves are rounded to the even number.
///
/// shapes  x any, tiles one divisor for each axis -> qvalue like x, scale of one entry for each tile
/// dtypes  x any float; scale and zero point f32, f64 for f64 (qwix keeps the dtype of x)
/// errors  "quantize: x", "quantize: type", "quantize: tiles"; "quantize: gradient" where a derivative would pass:
///         fake_quantize has one
/// source  qwix.quantize with the calibrations absmax and minmax
constexpr quantized_array quantize(const array& x, const quantize_options& options = {},
                                   source_line l = source_line::current()) {
  if (!detail::quantize_fits(x, options, l)) return {x, x};
  quantized_array y = detail::scales_of(x, options, l);
  const dtype t = y.scale.dtype();
  const auto all = [&](const array& a) { return detail::repeated_in_tiles(a, x.shape(), l); };
  array q = astype(x, t, l) / all(y.scale);
  const detail::quantized_range range(options.type);
  const array least(range.least, {t, false, {}}), greatest(range.greatest, {t, false, {}});
  if (is_integer(options.type)) q = round(options.asymmetric ? q + all(y.zero_point) : q, l);
  y.qvalue = astype(clip(q, least, greatest, l), options.type, l);
  return y;
}

/// dequantize(quantize(x)), through which gradients pass as if it were x: for training with the errors of quantisation.
/// errors  those of quantize
/// source  Bengio et al. 2013, arXiv:1308.3432; qwix's QAT
constexpr array fake_quantize(const array& x, const quantize_options& options = {},
                              source_line l = source_line::current()) {
  const array fixed = stop_gradient(x, l);
  const array y = astype(dequantize(quantize(fixed, options, l), l), x.dtype(), l);
  return y + (x - fixed);
}

}  // namespace tokamax
