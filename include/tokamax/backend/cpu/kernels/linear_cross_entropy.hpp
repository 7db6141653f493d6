// tokamax/backend/cpu/kernels/linear_cross_entropy.hpp: linear_cross_entropy and its gradients.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>                        // cpu_tag
#include <tokamax/backend/cpu/kernels/gemm_precision.hpp>        // gemm_precision_of
#include <tokamax/backend/cpu/row_ops/linear_cross_entropy.hpp>  // the routines in pieces
#include <tokamax/backend/cpu/vector/floats.hpp>                 // dense_floats, float_result
#include <tokamax/ops/linear_cross_entropy.hpp>                  // linear_cross_entropy_p

namespace tokamax {

namespace cpu_backend::detail {
struct linear_bias;
/// The operands of either op. `bias` is the number of the operand that may be left out.
inline linear_classes linear_classes_of(const kernel_arguments& a, int bias) {
  const array_view &x = a.in[0], &w = a.in[1];
  const auto o = a.attrs<linear_cross_entropy_options>();
  const gemm_element element = x.type == bf16 ? gemm_element::bfloat16 : gemm_element::f32;
  const std::int64_t features = x.extent(-1), classes = w.extent(o.transposed ? 0 : 1);
  return {
      .rows = a.in[2].size(),
      .features = features,
      .classes = classes,
      .x = {x.data, features, 1, element},
      .weights = o.transposed ? matrix_view{w.data, 1, features, element} : matrix_view{w.data, classes, 1, element},
      .labels = a.in[2].as<const std::int32_t>(),
      .precision = gemm_precision_of(x.type, o.algorithm),
      .bias = a.in_count > bias ? dense_floats<linear_bias>(a.in[bias]) : nullptr,
      .soft_cap = static_cast<float>(o.logits_soft_cap),
      .smoothing = static_cast<float>(o.label_smoothing)};
}
}  // namespace cpu_backend::detail

/// {loss, lse, correction} of x [rows, D], weights and labels [rows], without all logits in memory.
inline void kernel(op_c<linear_cross_entropy_p>, cpu_tag, const kernel_arguments& a) {
  cpu_backend::linear_cross_entropy(cpu_backend::detail::linear_classes_of(a, 3), a.out[0].as<float>(),
                                    a.out[1].as<float>(), a.out[2].as<float>());
}

/// {dx, dweights}, and dbias if there is a bias; the logits are computed again, piece by piece.
inline void kernel(op_c<linear_cross_entropy_vjp_p>, cpu_tag, const kernel_arguments& a) {
  const cpu_backend::float_result<struct linear_cross_entropy_dx> dx(a.out[0]);
  const cpu_backend::float_result<struct linear_cross_entropy_dw> dw(a.out[1]);
  const auto backward = [&](float* dbias) {
    cpu_backend::linear_cross_entropy_backward(cpu_backend::detail::linear_classes_of(a, 6), a.in[3].as<const float>(),
                                               a.in[4].as<const float>(), a.in[5].as<const float>(), dx.data(),
                                               dw.data(), a.attrs<linear_cross_entropy_options>().transposed, dbias);
  };
  if (a.out_count < 3) return backward(nullptr);
  const cpu_backend::float_result<struct linear_cross_entropy_dbias> dbias(a.out[2]);
  backward(dbias.data());
}

}  // namespace tokamax
