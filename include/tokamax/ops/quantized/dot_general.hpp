// tokamax/ops/quantized/dot_general.hpp: dot_general and matmul of quantised arrays.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/numpy/matmul.hpp>                   // matmul_options
#include <tokamax/ops/quantized/mixed_dot.hpp>        // mixed_dot
#include <tokamax/ops/quantized/quantized_array.hpp>  // quantized_array
#include <tokamax/ops/quantized/scaled_dot.hpp>       // scaled_dot_p

namespace tokamax {

namespace detail {

/// An operand of a product: floats, or a quantised array.
struct product_operand {
  quantized_array x;  ///< floats have no scale
  axes batch, contracting, free = other_axes(x.rank(), merged(contracting, batch));

  constexpr bool is_quantized() const { return x.scale.exists(); }
  constexpr dtype type() const { return is_quantized() ? x.type() : x.qvalue.dtype(); }
  constexpr std::int64_t tiles(std::int64_t axis) const {
    return is_quantized() ? x.scale.extent(static_cast<int>(axis)) : 1;
  }
  constexpr bool is_signed_integer() const {
    return is_quantized() && is_signed(x.qvalue.dtype()) && !x.has_zero_point();
  }
  constexpr array floats(source_line l) const { return is_quantized() ? dequantize(x, l) : x.qvalue; }
};

/// The number of tiles along each contracted axis that suits both operands.
struct common_tiles {
  shape counts;
  std::int64_t total = 1;
  bool exist = true;
  constexpr common_tiles(const product_operand& a, const product_operand& b) {
    constexpr std::int64_t smallest = 8;  // elements of a tile; if it has fewer, scaling the elements costs less
    for (int i = 0; i < a.contracting.rank(); ++i) {
      const std::int64_t s = a.tiles(a.contracting[i]), t = b.tiles(b.contracting[i]);
      const std::int64_t more = s > t ? s : t, less = s > t ? t : s;
      const std::int64_t n = a.x.extent(static_cast<int>(a.contracting[i]));
      exist = exist && less > 0 && more % less == 0 && (more == 1 || n / more >= smallest);
      counts.push_back(more);
      total = mul_extent(total, more);
    }
  }
};

/// An operand as a matrix for each batch entry, in which the contracted elements of a tile lie side by side.
struct tiled_matrix {
  array values;  ///< [B, R, K], or of the right operand [B, K, R]
  array scale;   ///< [B, R, T] or [B, T, R]; floats have none

  constexpr tiled_matrix(const product_operand& o, const common_tiles& tiles, dtype t, bool right, source_line l) {
    shape split, of_scale = o.x.qvalue.shape();
    axes place;  // of each axis in `split`, where contracted ones are two
    for (int i = 0; i < o.x.rank(); ++i) {
      place.push_back(split.rank());
      for (int j = 0; j < o.contracting.rank(); ++j)
        if (o.contracting[j] == i) split.push_back(of_scale[i] = tiles.counts[j]);
      split.push_back(split.rank() > place[i] ? div_extent(o.x.extent(i), of_scale[i]) : o.x.extent(i));
    }
    const auto extents = [&](const axes& which) {
      std::int64_t n = 1;
      for (std::int64_t i : which) n = mul_extent(n, o.x.extent(static_cast<int>(i)));
      return n;
    };
    axes order, elements;
    for (std::int64_t i : o.contracting) elements.push_back(place[static_cast<int>(i)]);
    for (std::int64_t i : o.contracting) elements.push_back(place[static_cast<int>(i)] + 1);
    const auto add = [&](const axes& which) {
      for (std::int64_t i : which) order.push_back(place[static_cast<int>(i)]);
    };
    add(o.batch);
    if (right) order = merged(order, elements);
    add(o.free);
    if (!right) order = merged(order, elements);
    const std::int64_t b = extents(o.batch), r = extents(o.free), k = extents(o.contracting);
    values = reshape(transpose(reshape(astype(o.x.qvalue, t, l), split, l), order, l),
                     right ? shape{b, k, r} : shape{b, r, k}, l);
    if (!o.is_quantized()) return;
    const axes of_axes =
        right ? merged(merged(o.batch, o.contracting), o.free) : merged(merged(o.batch, o.free), o.contracting);
    const array all = repeated_in_tiles(astype(o.x.scale, carrying(o.type()), l), of_scale, l);
    scale = reshape(transpose(all, of_axes, l), right ? shape{b, tiles.total, r} : shape{b, r, tiles.total}, l);
  }
};

/// Do the operands have the axes, and equal extents along those that they share?
constexpr bool is_contraction(const product_operand& a, const product_operand& b) {
  if (!paired(a.x.rank(), a.contracting, a.batch, b.contracting, b.batch) ||
      !paired(b.x.rank(), b.contracting, b.batch, a.contracting, a.batch))
    return false;
  const axes of_a = merged(a.contracting, a.batch), of_b = merged(b.contracting, b.batch);
  for (int i = 0; i < of_a.rank(); ++i)
    if (a.x.extent(static_cast<int>(of_a[i])) != b.x.extent(static_cast<int>(of_b[i]))) return false;
  return true;
}

/// The product of two operands of which at least one is quantised.
constexpr array quantized_product(const product_operand& a, const product_operand& b, const dot_dimensions& d,
                                  source_line l) {
  if ((a.is_quantized() && !quantized_fits(a.x, l)) || (b.is_quantized() && !quantized_fits(b.x, l))) return a.x.qvalue;
  const auto in_floats = [&] { return dot_general(a.floats(l), b.floats(l), d, l); };
  if (!is_contraction(a, b)) return in_floats();  // which says what is wrong
  const common_tiles tiles(a, b);
  const bool exact =
      !a.x.has_zero_point() && !b.x.has_zero_point() && bits_of(a.type()) <= 32 && bits_of(b.type()) <= 32;
  const bool integers = a.is_signed_integer() && b.is_signed_integer();
  if (!exact || !tiles.exist || (tiles.total != 1 && !integers)) return in_floats();
  // Numbers of 8 bits are exact in bf16, so the product may be one of bf16, or of the dtype of the floats.
  const dtype t = integers ? i8 : a.is_quantized() && b.is_quantized() ? bf16 : a.is_quantized() ? b.type() : a.type();
  const bool mixed = !a.is_quantized() && bits_of(b.x.qvalue.dtype()) <= 8;  // no product of converted numbers
  const tiled_matrix x(a, tiles, t, false, l), y(b, tiles, mixed ? b.x.qvalue.dtype() : t, true, l);
  array product;
  if (integers) {
    product = bind(described<scaled_dot_p>(), {x.values, y.values, x.scale, y.scale}, words{}, l);
  } else {
    product = mixed ? mixed_dot(x.values, y.values, d.algorithm, l)
                    : dot_general(x.values, y.values, {{2}, {1}, {0}, {0}, f32, d.algorithm}, l);
    if (a.is_quantized()) product = product * x.scale;
    if (b.is_quantized()) product = product * y.scale;
  }
  shape s;
  for (std::int64_t i : a.batch) s.push_back(a.x.extent(static_cast<int>(i)));
  for (std::int64_t i : a.free) s.push_back(a.x.extent(static_cast<int>(i)));
  for (std::int64_t i : b.free) s.push_back(b.x.extent(static_cast<int>(i)));
  const dtype wanted = d.preferred_element_type;
  return astype(reshape(product, s, l),
                wanted != dtype::none ? wanted : promote({a.type(), false}, {b.type(), false}).type, l);
}

constexpr product_operand left_operand(const quantized_array& x, const dot_dimensions& d) {
  return {x, d.lhs_batch, d.lhs_contracting};
}
constexpr product_operand right_operand(const quantized_array& x, const dot_dimensions& d) {
  return {x, d.rhs_batch, d.rhs_contracting};
}
}  // namespace detail

/// Contracts quantised arrays, or one with floats, as dot_general contracts arrays.
///
/// Two arrays of signed integers whose scales are those of tensors, channels or tiles of at least 8 elements are multiplied as
/// integers of 8 bits; each tile is summed exactly, and then scaled. If scales do not vary along the contracted axes, other
/// values are multiplied as floats that hold them exactly, bf16 or the dtype of the other operand, and then scaled. Where few
/// rows of floats meet quantised columns, these are read as they are, at the speed of memory. The rest is dequantised first: zero
/// points, and floats with tiles along the contracted axes.
///
/// shapes  those of dot_general
/// dtypes  the result has the promoted dtype of the numbers that the operands stand for, or `preferred_element_type`
/// errors  those of dot_general and of dequantize
/// gradients  of floats and of scales; quantised values have none
/// source  qwix.dot_general
constexpr array dot_general(const quantized_array& lhs, const quantized_array& rhs, const dot_dimensions& dimensions,
                            source_line l = source_line::current()) {
  return detail::quantized_product(detail::left_operand(lhs, dimensions), detail::right_operand(rhs, dimensions),
                                   dimensions, l);
}
constexpr array dot_general(const array& lhs, const quantized_array& rhs, const dot_dimensions& dimensions,
                            source_line l = source_line::current()) {
  return detail::quantized_product(detail::left_operand({lhs, {}}, dimensions), detail::right_operand(rhs, dimensions),
                                   dimensions, l);
}
constexpr array dot_general(const quantized_array& lhs, const array& rhs, const dot_dimensions& dimensions,
                            source_line l = source_line::current()) {
  return detail::quantized_product(detail::left_operand(lhs, dimensions), detail::right_operand({rhs, {}}, dimensions),
                                   dimensions, l);
}

/// The product of the last axis of x with the first of a quantised matrix, as layers need it.
///
/// shapes  x [..., K], w [K, N] -> [..., N]
/// errors  "matmul: operand" of another rank; those of dot_general
template <class Left>
  requires std::is_same_v<Left, array> || std::is_same_v<Left, quantized_array>
constexpr array matmul(const Left& x, const quantized_array& w, const matmul_options& o = {},
                       source_line l = source_line::current()) {
  if (x.rank() == 0 || w.rank() != 2) {
    reject(w.qvalue, l, "matmul: operand", w.qvalue.type(), "quantised [K,N], and x with an axis");
    return w.scale;
  }
  return dot_general(x, w, {{x.rank() - 1}, {0}, {}, {}, o.preferred_element_type, o.algorithm}, l);
}

}  // namespace tokamax
