// tokamax/backend/cpu/kernels/softmax.hpp: softmax over the last axis and its gradient.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>           // cpu_tag
#include <tokamax/backend/cpu/row_ops/softmax.hpp>  // the row routines
#include <tokamax/backend/cpu/vector/floats.hpp>    // in_narrow_rows, dense_floats, float_result
#include <tokamax/ops/softmax.hpp>                  // softmax_p

namespace tokamax {

/// Softmax of the last axis. Dense bf16 and f16 are read and written as they are, here and in the gradient.
inline void kernel(op_c<softmax_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const auto narrow = [&]<class T>(T) { cpu_backend::softmax(rows, cols, a.in[0].as<const T>(), a.out[0].as<T>()); };
  if (cpu_backend::in_narrow_rows({a.in[0], a.out[0]}, narrow)) return;
  const cpu_backend::float_result<struct softmax_y> y(a.out[0]);
  cpu_backend::softmax(rows, cols, cpu_backend::dense_floats<struct softmax_x>(a.in[0]), y.data());
}

/// dx from y = softmax(x) and the cotangent of y.
inline void kernel(op_c<softmax_vjp_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t cols = a.in[0].extent(-1), rows = cols ? a.in[0].size() / cols : 0;
  const auto narrow = [&]<class T>(T) {
    cpu_backend::softmax_backward(rows, cols, a.in[0].as<const T>(), a.in[1].as<const T>(), a.out[0].as<T>());
  };
  if (cpu_backend::in_narrow_rows({a.in[0], a.in[1], a.out[0]}, narrow)) return;
  const cpu_backend::float_result<struct softmax_dx> dx(a.out[0]);
  cpu_backend::softmax_backward(rows, cols, cpu_backend::dense_floats<struct softmax_x>(a.in[0]),
                                cpu_backend::dense_floats<struct softmax_ct>(a.in[1]), dx.data());
}

}  // namespace tokamax
