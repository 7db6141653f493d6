// tokamax/ops/quantized/grouped_matmul.hpp: ragged_dot with scales, a bias and a gated activation, as experts are served.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/lax/indexing/slice.hpp>        // slice_in_dim
#include <tokamax/numpy/clip.hpp>                // clip
#include <tokamax/ops/quantized/ragged_dot.hpp>  // ragged_dot

namespace tokamax {

/// What is made of the two halves of the columns of a product, gate and up.
enum class gate_up_activation : std::uint8_t {
  none,       ///< the columns stay as they are
  silu,       ///< silu(gate) * up
  gelu,       ///< gelu(gate) * up, by tanh
  swigluoai,  ///< gate * sigmoid(1.702 gate) * (up + 1), with gate at most 7 and up in [-7, 7]
};

/// How grouped_matmul is asked to behave.
struct grouped_matmul_options {
  array rhs_scale = {};         ///< [G, T, 1, N] for T tiles of K, or [G, 1, 1, N]; none: rhs has floats
  array rhs_bias = {};          ///< [G, 1, N], added to the sums
  array group_offset = {};      ///< as for ragged_dot: rhs has the groups from this one on
  bool zero_initialize = true;  ///< rows of no group are zero; otherwise nothing is said about them
  gate_up_activation activation = gate_up_activation::none;
  dtype lhs_quantization =
      dtype::none;  ///< i8 or i4: rows of lhs are quantised in the tiles of rhs; none: lhs as it is
  dtype preferred_element_type = dtype::none;  ///< the dtype of the result; none: that of lhs
  implementation_names implementation = {};    ///< as for ragged_dot
};

namespace detail {
/// gate and up side by side [M, 2 N] -> [M, N].
constexpr array gate_and_up(const array& y, gate_up_activation how, source_line l) {
  using enum gate_up_activation;
  if (how == none) return y;
  const std::int64_t n = y.extent(1) / 2;
  const array gate = slice_in_dim(y, 0, n, 1, l), up = slice_in_dim(y, n, 2 * n, 1, l);
  if (how == silu) return tokamax::silu(gate, l) * up;
  if (how == gelu) return tokamax::gelu(gate, {}, l) * up;
  const array limit(7.0, {y.dtype(), false, {}}), low = minimum(gate, limit);
  return low * logistic(1.702 * low, l) * (clip(up, -limit, limit, l) + 1.0);
}

/// y [M, N] with the row of bias [G, N] that belongs to the group of each row; rows of no group stay.
constexpr array with_bias_of_groups(const array& y, const array& bias, const local_groups& own, source_line l) {
  const array mask = squeeze(rows_of_groups(expand_dims(own.sizes, 0, l), reshape(own.first_row, {1}, l), y.extent(0)),
                             0, l);  // [M, G]
  const array numbers = iota(i32, mask.shape(), 1, l);
  const array group = sum(select(mask, numbers, zeros_like(numbers), l), {{1}}, l);
  const array inside = expand_dims(sum(astype(mask, i32, l), {{1}}, l) > 0, 1, l);
  const array all = gather(astype(bias, y.dtype(), l), group, l);  // [M, N]
  return y + select(broadcast_to(inside, y.shape(), l), all, zeros_like(all), l);
}

/// Rejects options that do not fit the operands. False if it has.
constexpr bool grouped_matmul_fits(const array& lhs, const array& rhs, const grouped_matmul_options& o, source_line l) {
  const array given[] = {lhs, rhs};
  const auto wrong = [&](const char* what, const message& found, const message& expected) {
    reject(given, 2, l, what, found, expected);
    return false;
  };
  if (lhs.rank() != 2 || !is_floating(lhs.dtype())) return wrong("grouped_matmul: lhs", lhs.type(), "floats [M,K]");
  if (rhs.rank() != 3) return wrong("grouped_matmul: rhs", rhs.type(), "[G,K,N]");
  const std::int64_t g = rhs.extent(0), n = rhs.extent(2);
  if (const array& s = o.rhs_scale; s.exists())
    if (s.rank() != 4 || !(s.shape() == shape{g, s.extent(1), 1, n}))
      return wrong("grouped_matmul: rhs_scale", s.type(), message("[G,T,1,N] for ") << rhs.type());
  if (const array& b = o.rhs_bias; b.exists())
    if (!is_floating(b.dtype()) || !(b.shape() == shape{g, 1, n}))
      return wrong("grouped_matmul: rhs_bias", b.type(), message("floats [G,1,N] for ") << rhs.type());
  if (o.lhs_quantization != dtype::none && !o.rhs_scale.exists())
    return wrong("grouped_matmul: lhs_quantization", name(o.lhs_quantization), "none, or rhs with scales");
  if (o.activation != gate_up_activation::none && n % 2 != 0)
    return wrong("grouped_matmul: activation", rhs.type(), "gate and up side by side, an even N");
  return true;
}
}  // namespace detail

/// ragged_dot as experts are served: weights may be quantised, and a bias of each group and a gated activation are applied to
/// the sums before they are rounded.
///
///   y[m] = activation(lhs[m] (rhs[g] * rhs_scale[g]) + rhs_bias[g])  with the group g of row m
///
/// shapes  lhs [M, K], rhs [G, K, N], group_sizes [G], or with `group_offset` more of them -> [M, N], or [M, N / 2] with an
///         activation, whose gate is the first half of the columns and whose up the second one
/// dtypes  lhs a float; rhs a float, or a dtype of at most 8 bits with rhs_scale; sums f32, f64 for f64
/// errors  "grouped_matmul: lhs", "grouped_matmul: rhs", "grouped_matmul: rhs_scale", "grouped_matmul: rhs_bias",
///         "grouped_matmul: lhs_quantization", "grouped_matmul: activation"; those of ragged_dot
/// gradients  of lhs, which pass through its rounding, of rhs_bias, rhs_scale, and of rhs if it has floats
/// source  tokamax's gmm_v2, whose lhs is quantised by the kernel if the device can
constexpr array grouped_matmul(const array& lhs, const array& rhs, const array& group_sizes,
                               const grouped_matmul_options& o = {}, source_line l = source_line::current()) {
  if (!detail::grouped_matmul_fits(lhs, rhs, o, l)) return lhs;
  const std::int64_t groups = rhs.extent(0), k = rhs.extent(1), n = rhs.extent(2);
  const ragged_dot_options in_sums{.group_offset = o.group_offset,
                                   .preferred_element_type = carrying(lhs.dtype()),
                                   .implementation = o.implementation};
  array y;
  if (!o.rhs_scale.exists()) {
    y = ragged_dot(lhs, rhs, group_sizes, in_sums, no_activation{}, l);
  } else {
    const std::int64_t tiles = o.rhs_scale.extent(1);
    const quantized_array w{rhs, reshape(o.rhs_scale, {groups, tiles, n}, l)};
    if (o.lhs_quantization == dtype::none)
      y = ragged_dot(lhs, w, group_sizes, in_sums, no_activation{}, l);
    else
      y = ragged_dot(as_quantized{lhs, {.type = o.lhs_quantization, .tiles = {1, tiles > 0 ? k / tiles : 0}}}, w,
                     group_sizes, in_sums, no_activation{}, l);
  }
  if (y.rank() != 2 || y.extent(1) != n) return y;  // refused
  if (o.rhs_bias.exists() && groups != 0) {
    detail::local_groups own{detail::index_in_i32(group_sizes), zeros({1}, i32)};
    if (o.group_offset.exists()) own = detail::groups_from(own.sizes, detail::index_in_i32(o.group_offset), groups, l);
    y = detail::with_bias_of_groups(y, reshape(o.rhs_bias, {groups, n}, l), own, l);
  }
  const dtype result = o.preferred_element_type == dtype::none ? lhs.dtype() : o.preferred_element_type;
  return astype(detail::gate_and_up(y, o.activation, l), result, l);
}

}  // namespace tokamax
