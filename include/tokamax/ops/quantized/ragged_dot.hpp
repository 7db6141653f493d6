// tokamax/ops/quantized/ragged_dot.hpp: ragged_dot and its forms of quantised arrays.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/ops/quantized/as_quantized.hpp>       // quantized_sides
#include <tokamax/ops/quantized/dot_general.hpp>        // product_operand, common_tiles
#include <tokamax/ops/quantized/ragged_scaled_dot.hpp>  // ragged_scaled_dot_p

namespace tokamax {

namespace detail {

/// Can the groups be multiplied as integers, whose sums of tiles are scaled? Wrong shapes cannot.
constexpr bool multiplies_integers(const product_operand& a, const product_operand& w, const array& sizes,
                                   const array& offset) {
  if (!a.is_signed_integer() || !w.is_signed_integer() || bits_of(a.type()) > 32 || bits_of(w.type()) > 32)
    return false;
  if (a.x.rank() != 2 || w.x.rank() != 3 || sizes.rank() != 1 || !is_index(sizes.dtype())) return false;
  const bool offset_fits =
      offset.exists() ? offset.size() == 1 && is_index(offset.dtype()) : sizes.extent(0) == w.x.extent(0);
  return offset_fits && w.x.extent(1) == a.x.extent(1) && common_tiles(a, w).exist;
}

/// A form of ragged_dot on operands of which at least one is quantised.
constexpr array quantized_ragged_dot(const quantized_array& lhs, const quantized_array& rhs, const array& sizes,
                                     ragged_dot_form form, const ragged_dot_options& o, source_line l) {
  const bool quantized[] = {lhs.scale.exists(), rhs.scale.exists()};
  if ((quantized[0] && !quantized_fits(lhs, l)) || (quantized[1] && !quantized_fits(rhs, l))) return lhs.qvalue;
  const bool transposed = form == ragged_dot_form::transposed_rhs && quantized[1] && rhs.rank() == 3;
  const product_operand a{lhs, {}, {1}}, w{transposed ? transpose(rhs, {0, 2, 1}, l) : rhs, {}, {1}};
  if (form == ragged_dot_form::ragged_contracting || !multiplies_integers(a, w, sizes, o.group_offset))
    return ragged_dot_general(quantized[0] ? dequantize(lhs, l) : lhs.qvalue,
                              quantized[1] ? dequantize(rhs, l) : rhs.qvalue, sizes, form, o, l);
  const std::int64_t tiles = common_tiles(a, w).total, groups = w.x.extent(0);
  local_groups own{index_in_i32(sizes), zeros({1}, i32)};
  if (o.group_offset.exists()) own = groups_from(own.sizes, index_in_i32(o.group_offset), groups, l);
  const array rows = repeated_in_tiles(astype(a.x.scale, f32, l), {a.x.extent(0), tiles}, l);
  const array columns = repeated_in_tiles(astype(w.x.scale, f32, l), {groups, tiles, w.x.extent(2)}, l);
  const use_implementation named("ragged_scaled_dot", o.implementation, a.x.qvalue, w.x.qvalue);
  const array y = bind(described<ragged_scaled_dot_p>(),
                       {expand_dims(astype(a.x.qvalue, i8, l), 0, l), expand_dims(astype(w.x.qvalue, i8, l), 0, l),
                        expand_dims(own.sizes, 0, l), reshape(own.first_row, {1}, l), expand_dims(rows, 0, l),
                        expand_dims(columns, 0, l)},
                       words{}, l);
  const dtype wanted = o.preferred_element_type;
  return astype(squeeze(y, 0, l), wanted != dtype::none ? wanted : promote({a.type(), false}, {w.type(), false}).type,
                l);
}
}  // namespace detail

/// The three products of groups of rows, of quantised arrays, or of one with floats. `as_quantized` quantises on entry.
///
/// Two arrays of signed integers are multiplied as integers of 8 bits if the tiles along K suit each other and have 8 elements
/// or more: each tile is summed exactly, and then scaled. All else is dequantised first: floats beside integers, zero points,
/// floats of 8 bits, scales for single elements of K, and ragged_contracting.
///
/// shapes, errors  those of ragged_dot_general, dequantize and quantize
/// dtypes  the result has the promoted dtype of the numbers that the operands stand for, or `preferred_element_type`
/// gradients  of floats, by two ragged dots, also of those that are quantised on entry, and of scales; quantised values have none
/// source  tokamax.ragged_dot_general
template <class Left, class Right>
  requires quantized_sides<Left, Right>
constexpr array ragged_dot_general(const Left& lhs, const Right& rhs, const array& group_sizes, ragged_dot_form form,
                                   const ragged_dot_options& options = {}, source_line l = source_line::current()) {
  return detail::straight_through(
      [&](const quantized_array& a, const quantized_array& b) {
        return detail::quantized_ragged_dot(a, b, group_sizes, form, options, l);
      },
      lhs, rhs, l);
}

/// Multiplies each row of lhs with the matrix of its group, then applies `activation` to the sums, before they are rounded.
///
///   y[m] = activation(lhs[m] rhs[group of m])
///
/// shapes  lhs [M, K], rhs [G, K, N], group_sizes [G] -> [M, N]
/// dtypes, errors, gradients  see ragged_dot_general
template <class Left, class Right, class Activation = no_activation>
  requires quantized_sides<Left, Right>
constexpr array ragged_dot(const Left& lhs, const Right& rhs, const array& group_sizes,
                           const ragged_dot_options& options = {}, const Activation& activation = {},
                           source_line l = source_line::current()) {
  const dtype t = promote({detail::numbers_type(lhs), false}, {detail::numbers_type(rhs), false}).type;
  ragged_dot_options in_sums = options;
  if (is_floating(t)) in_sums.preferred_element_type = carrying(t);
  const array y = activation(ragged_dot_general(lhs, rhs, group_sizes, ragged_dot_form::standard, in_sums, l));
  return astype(y, options.preferred_element_type == dtype::none ? t : options.preferred_element_type, l);
}

}  // namespace tokamax
