// tokamax/complex/complex_grad.hpp: gradients by complex numbers as JAX counts them, and complex derivatives.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/lax/fourier/complex_parts.hpp>  // complex_parts
#include <tokamax/transforms/grad.hpp>            // grad

namespace tokamax {

/// The gradient of a real function L of one complex array: dL/dre - i dL/dim, as in JAX. A step of descent goes along its
/// conjugate, which is what grad gives for complex_parts.
/// source  jax.grad
template <class F>
constexpr auto complex_grad(F f) {
  return [f](const complex_parts& z) { return conj(grad(f)(z)); };
}
/// The derivative f' of a complex function f of one complex scalar that has one: d re(f)/dre - i d re(f)/dim.
/// source  jax.grad with holomorphic=True
template <class F>
constexpr auto holomorphic_grad(F f) {
  return complex_grad([f](const complex_parts& z) { return f(z).re; });
}

}  // namespace tokamax
