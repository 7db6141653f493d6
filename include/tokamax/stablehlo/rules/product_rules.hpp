// tokamax/stablehlo/rules/product_rules.hpp: rules of products, convolutions, transforms and linear algebra.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/complex/fourier_nd.hpp>              // fftn
#include <tokamax/complex/products.hpp>                // bilinear
#include <tokamax/lax/dot_general.hpp>                 // dot_general
#include <tokamax/lax/windows/conv.hpp>                // conv_general_dilated
#include <tokamax/linalg/cholesky.hpp>                 // cholesky, triangular_solve
#include <tokamax/stablehlo/rules/evaluator.hpp>       // rule_entry
#include <tokamax/stablehlo/rules/factorisations.hpp>  // complex_cholesky

#include <span>  // span

namespace tokamax::stablehlo::detail {

/// f(a, b), which is linear in both, of operands of which any may be complex.
template <class F>
value product_of(const rule_call& c, const F& f) {
  if (!c.is_complex()) return {f(c[0], c[1]), {}};
  return of(bilinear(f, c.parts(0), c.parts(1)));
}

/// How a product in `algorithm` is asked for; what is not known of it is computed in full precision.
inline dot_algorithm algorithm_of(const rule_call& c) {
  const attribute* const a = c.find("algorithm");
  if (!a || a->is != attribute::form::record) return dot_algorithm{};
  std::string lhs;
  std::int64_t parts = 0;
  for (std::size_t k = 0; k < a->items.size(); ++k) {
    if (a->names[k] == "lhs_precision_type") lhs = name(a->items[k].type.dtype);
    if (a->names[k] == "num_primitive_operations") parts = a->items[k].integer;
  }
  if (lhs != "bf16") return dot_algorithm{};
  return parts == 1 ? dot_algorithm::bf16_bf16_f32 : parts == 3 ? dot_algorithm::bf16_bf16_f32_x3 : dot_algorithm{};
}

/// The operands may have two dtypes, and the result a third one.
inline values dot_general_value(const rule_call& c) {
  const dtype to = c.result().dtype;
  dot_dimensions d;
  d.lhs_contracting = c.axes_of("lhs_contracting_dimensions", c.at(0).re.rank());
  d.rhs_contracting = c.axes_of("rhs_contracting_dimensions", c.at(1).re.rank());
  d.lhs_batch = c.axes_of("lhs_batching_dimensions", c.at(0).re.rank());
  d.rhs_batch = c.axes_of("rhs_batching_dimensions", c.at(1).re.rank());
  const auto product = [&](array a, array b) {
    dtype in = a.dtype() == b.dtype() ? a.dtype() : promote({a.dtype(), false}, {b.dtype(), false}).type;
    if (is_floating(to) != is_floating(in)) in = to;
    dot_dimensions how = d;
    if (in == bool_) in = i32;
    if (bits_of(to) > bits_of(in) && info(to).kind == info(in).kind) how.preferred_element_type = to;
    if (in == f32) how.algorithm = algorithm_of(c);
    return astype(dot_general(astype(a, in), astype(b, in), how), to);
  };
  return {product_of(c, product)};
}
/// A product over the last axis of one operand and the first of the other.
inline values old_dot_value(const rule_call& c) {
  const dtype to = c.result().dtype;
  dot_dimensions d;
  d.lhs_contracting = {c.at(0).re.rank() - 1};
  d.rhs_contracting = {0};
  return {product_of(c, [&](const array& a, const array& b) { return astype(dot_general(a, b, d), to); })};
}

/// x with its axes in the order that convolutions have: N or window, space, C.
inline values convolution_value(const rule_call& c) {
  const int rank = c.at(0).re.rank(), space = rank - 2;
  if (space < 0) refuse(c.op, "operands of rank " + std::to_string(rank), "at least 2");
  const auto order = [&](const char* operand, const char* first, const char* last, bool window) {
    const std::string name(operand);
    axes a;
    const std::vector<std::int64_t> places = c.integers(name + "_spatial_dimensions");
    if (static_cast<int>(places.size()) != space)
      c.wrong(name + "_spatial_dimensions", std::to_string(space) + " axes");
    if (!window) a.push_back(c.integer(name + first));
    for (std::int64_t p : places) a.push_back(p);
    if (window) a.push_back(c.integer(name + first));
    a.push_back(c.integer(name + last));
    for (int i = 0; i < rank; ++i)
      if (!a.contains(i)) c.wrong("dimension_numbers", "each axis once");
    return a;
  };
  const axes of_input = order("input", "_batch_dimension", "_feature_dimension", false),
             of_kernel = order("kernel", "_input_feature_dimension", "_output_feature_dimension", true),
             of_output = order("output", "_batch_dimension", "_feature_dimension", false);
  conv_options o;
  o.strides = c.list("window_strides", space, 1);
  o.lhs_dilation = c.list("lhs_dilation", space, 1);
  o.rhs_dilation = c.list("rhs_dilation", space, 1);
  const shape pads = c.list("padding", 2 * space, 0), turned = c.list("window_reversal", space, 0);
  axes reversed;
  for (int i = 0; i < space; ++i) {
    o.low.push_back(pads[2 * i]);
    o.high.push_back(pads[2 * i + 1]);
    if (turned[i]) reversed.push_back(i);
  }
  o.feature_groups = static_cast<int>(c.integer("feature_group_count", 1));
  o.batch_groups = static_cast<int>(c.integer("batch_group_count", 1));
  axes back;
  for (int i = 0; i < rank; ++i)
    for (int k = 0; k < rank; ++k)
      if (of_output[k] == i) back.push_back(k);
  const dtype to = c.result().dtype, in = is_floating(to) ? to : f64;  // f64 has all products of integers below 2^53
  return {product_of(c, [&](const array& x, const array& w) {
    const array image = transpose(astype(x, in), of_input);
    array window = transpose(astype(w, in), of_kernel);
    if (reversed.rank()) window = reverse(window, reversed);
    const array y = conv_general_dilated(image, window, o);
    return transpose(is_floating(to) ? y : astype(astype(y, i64), to), back);
  })};
}

/// Transforms along the last axes, one for each length.
inline values fft_value(const rule_call& c) {
  const std::string kind = c.text("fft_type");
  const std::vector<std::int64_t> lengths = c.integers("fft_length");
  fftn_options o;
  bool none_at_all = c.at(0).re.size() == 0;
  for (std::int64_t n : lengths) {
    o.s.push_back(n);
    none_at_all = none_at_all || n == 0;
  }
  if (none_at_all) {
    const array none = zeros(c.extents(), c.result().dtype);
    return {{none, c.result().complex ? none : array()}};
  }
  if (kind == "RFFT") return {of(rfftn(c[0], o))};
  if (kind == "IRFFT") return {{irfftn(c.parts(0), o), {}}};
  if (kind == "FFT") return {of(fftn(c.parts(0), o))};
  if (kind == "IFFT") return {of(ifftn(c.parts(0), o))};
  c.wrong("fft_type", "FFT, IFFT, RFFT or IRFFT");
}

/// f in f32 at least.
template <class F>
array in_wide(const dtype to, const F& f) {
  return astype(f(carrying(to)), to);
}
/// Only one triangle of the matrix is read.
inline values cholesky_value(const rule_call& c) {
  const bool lower = c.integer("lower", 0) != 0;
  if (c.is_complex()) {
    const value l = complex_cholesky(lower ? c.at(0) : adjoint(c.at(0)));
    return {lower ? l : adjoint(l)};
  }
  return {{in_wide(c.result().dtype,
                   [&](dtype wide) {
                     array a = astype(c[0], wide);
                     if (!lower) a = swapaxes(a, -1, -2);
                     const array l = linalg::cholesky(a, {.symmetrize_input = false});
                     return lower ? l : swapaxes(l, -1, -2);
                   }),
           {}}};
}
/// Real matrices have equal adjoints and transposes.
inline values triangular_solve_value(const rule_call& c) {
  const std::string transposed = c.text("transpose_a", "NO_TRANSPOSE");
  linalg::triangular_solve_options o;
  o.left_side = c.integer("left_side", 1) != 0;
  o.lower = c.integer("lower", 0) != 0;
  o.unit_diagonal = c.integer("unit_diagonal", 0) != 0;
  o.transpose_a = transposed == "TRANSPOSE" || transposed == "ADJOINT";
  if (!o.transpose_a && transposed != "NO_TRANSPOSE") c.wrong("transpose_a", "NO_TRANSPOSE, TRANSPOSE or ADJOINT");
  if (c.is_complex())
    return {triangular_solution({c.parts(0).re, c.parts(0).im}, c.at(1), o,
                                o.transpose_a ? transposed[0] == 'A' ? 'C' : 'T' : 'N')};
  return {{in_wide(c.result().dtype,
                   [&](dtype wide) { return linalg::triangular_solve(astype(c[0], wide), astype(c[1], wide), o); }),
           {}}};
}

inline std::span<const rule_entry> product_rules() {
  static constexpr rule_entry all[] = {
      {"stablehlo.cholesky", "linalg::cholesky", cholesky_value},
      {"stablehlo.convolution", "conv_general_dilated", convolution_value},
      {"stablehlo.dot", "dot_general", old_dot_value},
      {"stablehlo.dot_general", "dot_general", dot_general_value},
      {"stablehlo.fft", "fftn, ifftn, rfftn, irfftn", fft_value},
      {"stablehlo.triangular_solve", "linalg::triangular_solve", triangular_solve_value},
  };
  return all;
}

}  // namespace tokamax::stablehlo::detail
