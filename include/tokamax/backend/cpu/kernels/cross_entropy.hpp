// tokamax/backend/cpu/kernels/cross_entropy.hpp: softmax_cross_entropy with integer labels and its gradient.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>           // cpu_tag
#include <tokamax/backend/cpu/row_ops/softmax.hpp>  // the row routines
#include <tokamax/backend/cpu/vector/floats.hpp>    // in_narrow_rows, dense_floats, float_result
#include <tokamax/ops/cross_entropy.hpp>            // cross_entropy_p

namespace tokamax {

/// {loss, lse, correction} of logits [rows, V] and labels [rows]. Dense bf16 and f16 are read as they are.
inline void kernel(op_c<cross_entropy_p>, cpu_tag, const kernel_arguments& a) {
  const auto run = [&](const auto* logits) {
    cpu_backend::softmax_cross_entropy(a.in[1].size(), a.in[0].extent(-1), logits, a.in[1].as<const std::int32_t>(),
                                       a.out[0].as<float>(), a.out[1].as<float>(), a.out[2].as<float>());
  };
  if (!cpu_backend::in_narrow_rows({a.in[0]}, [&]<class T>(T) { run(a.in[0].as<const T>()); }))
    run(cpu_backend::dense_floats<struct cross_entropy_x>(a.in[0]));
}

/// dlogits [rows, V]; see the row routine for the formula.
inline void kernel(op_c<cross_entropy_vjp_p>, cpu_tag, const kernel_arguments& a) {
  const auto run = [&](const auto* logits, auto* to) {
    cpu_backend::softmax_cross_entropy_backward(a.in[1].size(), a.in[0].extent(-1), logits,
                                                a.in[1].as<const std::int32_t>(), a.in[2].as<const float>(),
                                                a.in[3].as<const float>(), a.in[4].as<const float>(), to);
  };
  const auto narrow = [&]<class T>(T) { run(a.in[0].as<const T>(), a.out[0].as<T>()); };
  if (cpu_backend::in_narrow_rows({a.in[0], a.out[0]}, narrow)) return;
  const cpu_backend::float_result<struct cross_entropy_dx> dx(a.out[0]);
  run(cpu_backend::dense_floats<struct cross_entropy_x>(a.in[0]), dx.data());
}

}  // namespace tokamax
