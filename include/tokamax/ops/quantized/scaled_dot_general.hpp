// tokamax/ops/quantized/scaled_dot_general.hpp: products of floats that are rounded to blocks of few bits, for training.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
// tested by tests/ops/quantized/scaled_dot.cpp
#pragma once

#include <tokamax/lax/elementwise/bitwise.hpp>       // shift_right_logical
#include <tokamax/ops/quantized/dot_general.hpp>     // dot_general of quantised arrays
#include <tokamax/ops/quantized/quantize.hpp>        // quantized_range
#include <tokamax/transforms/custom/custom_vjp.hpp>  // custom_vjp

namespace tokamax {

/// The formats of numbers that share a scale with their neighbours.
enum class block_scaling : std::uint8_t {
  mxfp8,  ///< floats of 8 bits (e4m3), 32 of which share a power of two
  nvfp4   ///< floats of 4 bits (e2m1), 16 of which share a float of 8 bits (e4m3); all share a factor
};

/// How an operand of scaled_dot_general, or a cotangent, is rounded. `scaled_dot_general_config` makes the usual ones.
struct block_scale_config {
  block_scaling mode = block_scaling::mxfp8;
  std::int64_t block_size = 32;
  dtype data_type = f8e4m3fn;        ///< f8e4m3fn holds the numbers of e2m1 too
  dtype scale_type = f32;            ///< f32 holds powers of two
  array global_scale = array(1.0f);  ///< nvfp4: the factor of all
};

/// The configuration of a format: nvfp4 takes the factor of all numbers, for instance max |x| / (6 * 448).
///
/// source  jax.nn.get_scaled_dot_general_config. The dtypes that are not there, e2m1 and e8m0, stand in wider ones with the
///         same values
constexpr block_scale_config scaled_dot_general_config(block_scaling mode, const array& global_scale = array(1.0f)) {
  if (mode == block_scaling::mxfp8) return {};
  return {mode, 16, f8e4m3fn, f8e4m3fn, global_scale};
}

/// The configurations of the two operands and of the cotangent.
struct block_scale_configs {
  block_scale_config lhs{}, rhs{}, cotangent{};
};

namespace detail {
/// The least power of two, from 2^-127, that is not below x. Infinities and NaN stay.
constexpr array power_of_two_above(const array& x, source_line l) {
  const array bits = bitcast_convert_type(x, i32, l), number = shift_right_logical(bits, array(23), l);
  const array fraction = bits - shift_left(number, array(23), l);
  // 2^-127 is half of the least normal number, so its fraction is not zero
  const array up = select(number == 0, fraction > (1 << 22), fraction > 0);
  const array next = select(logical_and(up, number < 254), number + 1, number);
  const array tiny = full_like(bits, 1 << 22);
  const array power = select(next == 0, tiny, shift_left(next, array(23), l));
  return select(number == 255, x, bitcast_convert_type(power, f32, l));
}
/// The nearest number of e2m1, halves to the even one: steps of 1/2 below 2, of 1 below 4, of 2 up to 6.
constexpr array round_to_e2m1(const array& x, source_line l) {
  const array size = abs(x, l), half = full_like(x, 0.5), one = full_like(x, 1.0), two = full_like(x, 2.0);
  const array step = select(size < 2.0f, half, select(size < 4.0f, one, two));
  return round(x / step, l) * step;
}
/// [..., K] in blocks along its last axis. The scale is f32 in all formats.
constexpr quantized_array in_blocks(const array& x, const block_scale_config& o, source_line l) {
  const int last = x.rank() - 1;
  const std::int64_t k = last < 0 ? 0 : x.extent(last);
  if (!is_floating(x.dtype()) || is_dyn(k) || k <= 0 || o.block_size <= 0 || k % o.block_size != 0) {
    reject(x, l, "scaled_dot_general: blocks", x.type(), message("floats in blocks of ") << o.block_size);
    return {x, x};
  }
  const bool four_bits = o.mode == block_scaling::nvfp4;
  const double most = four_bits ? 6 : quantized_range(o.data_type).greatest;
  shape split = x.shape(), scales = x.shape();
  split[last] = scales[last] = k / o.block_size;
  split.push_back(o.block_size);
  array v = reshape(astype(x, f32, l), split, l);
  if (four_bits) v = v / reshape(o.global_scale, {}, l);
  array scale = max(abs(v, l), {{last + 1}, true}, l) / static_cast<float>(most);
  if (four_bits) {
    scale = astype(astype(minimum(scale, full_like(scale, quantized_range(o.scale_type).greatest)), o.scale_type, l),
                   f32, l);
  } else {
    scale = power_of_two_above(scale, l);
  }
  const array divisor = select(scale == 0.0f, full_like(scale, 1.0), scale);  // all numbers of such a block are zero
  v = v / broadcast_in_dim(divisor, split, iota_axes(last + 2), l);
  v = clip(v, array(static_cast<float>(-most)), array(static_cast<float>(most)), l);
  if (four_bits) v = round_to_e2m1(v, l);
  return {reshape(astype(v, o.data_type, l), x.shape(), l), reshape(scale, scales, l)};
}

/// [B, M, K] x [B, N, K] -> [B, M, N], both rounded.
constexpr array block_scaled_product(const array& a, const array& b, const block_scale_config& of_a,
                                     const block_scale_config& of_b, source_line l) {
  const array y = dot_general(in_blocks(a, of_a, l), in_blocks(b, of_b, l), {{2}, {2}, {0}, {0}, f32}, l);
  if (of_a.mode != block_scaling::nvfp4) return y;
  return y * reshape(of_a.global_scale * of_b.global_scale, {}, l);
}
/// The cotangent of [B, M, K], from that of the result [B, M, N] and the other operand [B, N, K].
constexpr array block_scaled_cotangent(const array& x, const array& ct, const array& other,
                                       const block_scale_config& of_x, const block_scale_config& of_other,
                                       const block_scale_config& of_ct, source_line l) {
  const std::int64_t n = ct.extent(2);
  const bool four_bits = of_ct.mode == block_scaling::nvfp4;
  if (!four_bits && n > 0 && n % of_ct.block_size == 0 && n % of_other.block_size == 0)
    return astype(block_scaled_product(ct, transpose(other, {0, 2, 1}, l), of_ct, of_other, l), x.dtype(), l);
  // These products are not rounded; numbers that were too large for the format get zero.
  const array y = dot_general(ct, astype(other, f32, l), {{2}, {1}, {0}, {0}, f32}, l);
  if (!four_bits) return astype(y, x.dtype(), l);
  const float limit = static_cast<float>(6 * quantized_range(of_x.scale_type).greatest);
  const array inside = abs(astype(x, f32, l), l) <= reshape(of_x.global_scale, {}, l) * limit;
  return astype(select(inside, y, zeros_like(y)), x.dtype(), l);
}
/// An operand as [B, R, K], the axes of each in the order in which they are named.
constexpr array as_batched_rows(const array& x, const axes& batch, const axes& contracting, source_line l) {
  const axes free = other_axes(x.rank(), merged(contracting, batch));
  const auto extent = [&](const axes& which) {
    std::int64_t n = 1;
    for (const std::int64_t i : which) n = mul_extent(n, x.extent(static_cast<int>(i)));
    return n;
  };
  return reshape(transpose(x, merged(merged(batch, free), contracting), l),
                 {extent(batch), extent(free), extent(contracting)}, l);
}
}  // namespace detail

/// The product of two arrays in blocks, [B, M, K] x [B, N, K] -> [B, M, N]: each number counts times the scale of its block.
///
/// shapes  lhs_scales [B, M, K_a], rhs_scales [B, N, K_b], whose last extents divide K
/// dtypes  operands of at most 8 bits; scales any float; the result has `preferred_element_type`
/// errors  "scaled_matmul: operands"; those of dequantize
/// source  jax.nn.scaled_matmul
constexpr array scaled_matmul(const array& lhs, const array& rhs, const array& lhs_scales, const array& rhs_scales,
                              dtype preferred_element_type = f32, source_line l = source_line::current()) {
  if (lhs.rank() != 3 || rhs.rank() != 3) {
    const array both[] = {lhs, rhs};
    reject(both, 2, l, "scaled_matmul: operands", message(lhs.type()) << ", " << rhs.type(), "[B,M,K], [B,N,K]");
    return lhs;
  }
  const quantized_array a{lhs, astype(lhs_scales, f32, l)}, b{rhs, astype(rhs_scales, f32, l)};
  return astype(dot_general(a, b, {{2}, {2}, {0}, {0}, f32}, l), preferred_element_type, l);
}

/// dot_general of floats that are rounded to a format of few bits first, block by block along the contracted axes.
///
///   scale = max |x| in the block / greatest number, rounded up to a power of two, or for nvfp4 to the nearest f8e4m3fn
///   y = sum of (round(a / scale_a) * scale_a) (round(b / scale_b) * scale_b)
///
/// Gradients pass as if nothing was rounded. With mxfp8 their products are rounded as well, in blocks along the axes that
/// these contract if their extents are multiples of the block; with nvfp4 they are not, and numbers beyond the format have none.
///
///   scaled_dot_general(x, w, {{1}, {0}}, {scaled_dot_general_config(block_scaling::mxfp8), ...})
///
/// shapes  those of dot_general; the product of the contracted extents is a multiple of the block
/// dtypes  floats; sums in f32; the result is f32, or `preferred_element_type`
/// errors  "scaled_dot_general: blocks"; those of dot_general. There is no forward mode
/// source  jax.nn.scaled_dot_general, which computes scales in the dtype of the operands, and here in f32
constexpr array scaled_dot_general(const array& lhs, const array& rhs, const dot_dimensions& dimensions,
                                   const block_scale_configs& o = {}, source_line l = source_line::current()) {
  const dot_dimensions& d = dimensions;
  const detail::product_operand left{{lhs, {}}, d.lhs_batch, d.lhs_contracting},
      right{{rhs, {}}, d.rhs_batch, d.rhs_contracting};
  if (!detail::is_contraction(left, right)) return dot_general(lhs, rhs, d, l);  // which says what is wrong
  const auto product =
      custom_vjp([=](const array& a, const array& b) { return detail::block_scaled_product(a, b, o.lhs, o.rhs, l); },
                 [=](const array& a, const array& b) {
                   return std::pair{detail::block_scaled_product(a, b, o.lhs, o.rhs, l), std::pair{a, b}};
                 },
                 [=](const std::pair<array, array>& known, const array& ct) {
                   const auto& [a, b] = known;
                   return std::tuple{
                       detail::block_scaled_cotangent(a, ct, b, o.lhs, o.rhs, o.cotangent, l),
                       detail::block_scaled_cotangent(b, transpose(ct, {0, 2, 1}, l), a, o.rhs, o.lhs, o.cotangent, l)};
                 },
                 l);
  const array y = product(detail::as_batched_rows(lhs, d.lhs_batch, d.lhs_contracting, l),
                          detail::as_batched_rows(rhs, d.rhs_batch, d.rhs_contracting, l));
  shape s;
  for (const std::int64_t i : left.batch) s.push_back(lhs.extent(static_cast<int>(i)));
  for (const std::int64_t i : left.free) s.push_back(lhs.extent(static_cast<int>(i)));
  for (const std::int64_t i : right.free) s.push_back(rhs.extent(static_cast<int>(i)));
  return astype(reshape(y, s, l), d.preferred_element_type == dtype::none ? f32 : d.preferred_element_type, l);
}

}  // namespace tokamax
