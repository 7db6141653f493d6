// tokamax/backend/cpu/kernels/fft.hpp: Fourier transforms of f32 and f64.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/fourier/fft.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>             // cpu_tag
#include <tokamax/backend/cpu/fourier/transform.hpp>  // transform_rows, transform_real_rows
#include <tokamax/lax/fourier/transform.hpp>          // fft_p, rfft_p
#include <tokamax/runtime/kernel.hpp>                 // kernel_arguments

namespace tokamax {

namespace cpu_backend::detail {
template <class T>
fourier::pair_of<T> two_results(const kernel_arguments& a) noexcept {
  return {a.out[0].as<T>(), a.out[1].as<T>()};
}
template <class T>
void transform_operands(const kernel_arguments& a) {
  const array_view& x = a.in[0];
  if (x.size() == 0) return;
  const std::int64_t n = x.extent(-1), rows = x.size() / n;
  fourier::transform_rows<T>({x.as<const T>(), a.in[1].as<const T>()}, two_results<T>(a), rows, n, n);
}
template <class T>
void transform_reals(const kernel_arguments& a) {
  const array_view& x = a.in[0];
  if (x.size() == 0) return;
  const std::int64_t n = x.extent(-1), rows = x.size() / n;
  fourier::transform_real_rows<T>(x.as<const T>(), two_results<T>(a), rows, n);
}
}  // namespace cpu_backend::detail

/// x [..., n] twice -> [..., n] twice
inline void kernel(op_c<fft_p>, cpu_tag, const kernel_arguments& a) {
  if (a.in[0].type == f64)
    cpu_backend::detail::transform_operands<double>(a);
  else
    cpu_backend::detail::transform_operands<float>(a);
}
/// x [..., n] -> [..., n / 2 + 1] twice
inline void kernel(op_c<rfft_p>, cpu_tag, const kernel_arguments& a) {
  if (a.in[0].type == f64)
    cpu_backend::detail::transform_reals<double>(a);
  else
    cpu_backend::detail::transform_reals<float>(a);
}

}  // namespace tokamax
