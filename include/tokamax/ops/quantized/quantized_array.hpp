// tokamax/ops/quantized/quantized_array.hpp: numbers of few bits with a scale for each tile of them, as operands of products.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
// tested by tests/ops/quantized/quantize.cpp
#pragma once

#include <tokamax/lax/elementwise/arithmetic.hpp>  // *, -
#include <tokamax/lax/shapes/transpose.hpp>        // transpose

namespace tokamax {

namespace detail {
// A function, because g++ 12 warns of the list of extents when a member's default value makes it.
constexpr array no_zero_point() { return array(0.0, {f32, false, {0}}); }
}  // namespace detail

/// An array whose elements are `(qvalue - zero_point) * scale`. Some elements along each axis share a scale: those of a tile,
/// whose extents are the extents of qvalue over those of scale. It is a tree, so that models and jit take it as they take arrays.
///
///   qvalue [512, 256], scale [1, 1]    one scale for the tensor
///   qvalue [512, 256], scale [1, 256]  one for each column (channel)
///   qvalue [512, 256], scale [4, 256]  one for 128 elements of a column (sub-channel)
///
/// dtypes  qvalue i8, u8, i4, u4, or a float of 8 bits; scale a float, which is the dtype of the array
/// source  qwix.QArray
struct quantized_array {
  array qvalue;
  array scale;                                 ///< the rank of qvalue
  array zero_point = detail::no_zero_point();  ///< like scale, or of extents [0]: there is none

  constexpr int rank() const { return qvalue.rank(); }
  constexpr std::int64_t extent(int axis) const { return qvalue.extent(axis); }
  constexpr dtype type() const { return scale.dtype(); }  ///< of the numbers that it stands for
  constexpr bool has_zero_point() const { return !(zero_point.shape() == tokamax::shape{0}); }
};

namespace detail {
/// Integers, or floats of 8 bits, that quantised arrays are made of.
constexpr bool is_quantized(dtype t) { return (is_integer(t) || is_floating(t)) && bits_of(t) <= 8; }

/// Rejects a quantised array whose parts do not fit. False if it has.
constexpr bool quantized_fits(const quantized_array& x, source_line l) {
  const array parts[] = {x.qvalue, x.scale, x.zero_point};
  const auto wrong = [&](const char* what, const array& found, const message& expected) {
    reject(parts, 3, l, what, found.type(), expected);
    return false;
  };
  if (!is_quantized(x.qvalue.dtype())) return wrong("quantized_array: qvalue", x.qvalue, "numbers of at most 8 bits");
  bool tiles = is_floating(x.scale.dtype()) && x.scale.rank() == x.rank();
  for (int i = 0; tiles && i < x.rank(); ++i) {
    const std::int64_t n = x.extent(i), t = x.scale.extent(i);
    tiles = t == n || t == 1 || (t > 0 && n > 0 && n % t == 0);
  }
  if (!tiles)
    return wrong("quantized_array: scale", x.scale, message("floats whose extents divide ") << x.qvalue.type());
  if (x.has_zero_point() && !(x.zero_point.shape() == x.scale.shape()))
    return wrong("quantized_array: zero_point", x.zero_point, message() << x.scale.shape());
  return true;
}

/// One entry for each tile, repeated for all elements of an array of extents `s`.
constexpr array repeated_in_tiles(const array& of_tiles, const shape& s, source_line l) {
  shape split;  // axes of several tiles become two
  axes from;
  for (int i = 0; i < s.rank(); ++i) {
    const std::int64_t tiles = of_tiles.extent(i);
    from.push_back(split.rank());
    if (tiles == 1 || tiles == s[i]) {
      split.push_back(s[i]);
    } else {
      split.push_back(tiles);
      split.push_back(s[i] / tiles);
    }
  }
  return reshape(broadcast_in_dim(of_tiles, split, from, l), s, l);
}
/// qvalue - zero_point, as floats of dtype t, which must hold them.
constexpr array quantized_values(const quantized_array& x, dtype t, source_line l) {
  const array values = astype(x.qvalue, t, l);
  if (!x.has_zero_point()) return values;
  return values - repeated_in_tiles(astype(x.zero_point, t, l), values.shape(), l);
}
}  // namespace detail

/// The numbers that a quantised array stands for.
///
///   y = (qvalue - zero_point) * scale
///
/// dtypes  the result has the dtype of scale, and is computed in f32 if that is narrower
/// errors  "quantized_array: qvalue", "quantized_array: scale", "quantized_array: zero_point"
/// source  qwix.dequantize
constexpr array dequantize(const quantized_array& x, source_line l = source_line::current()) {
  if (!detail::quantized_fits(x, l)) return x.scale;
  const dtype t = carrying(x.type());
  const array scales = detail::repeated_in_tiles(astype(x.scale, t, l), x.qvalue.shape(), l);
  return astype(detail::quantized_values(x, t, l) * scales, x.type(), l);
}

/// The axes of a quantised array in another order.
constexpr quantized_array transpose(const quantized_array& x, const axes& order,
                                    source_line l = source_line::current()) {
  quantized_array y = x;
  y.qvalue = transpose(x.qvalue, order, l);
  y.scale = transpose(x.scale, order, l);
  if (x.has_zero_point()) y.zero_point = transpose(x.zero_point, order, l);
  return y;
}

}  // namespace tokamax
