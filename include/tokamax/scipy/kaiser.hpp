// tokamax/scipy/kaiser.hpp: the window of Kaiser, whose side lobes a number chooses.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/signal.cpp
#pragma once

#include <tokamax/lax/iota.hpp>              // iota
#include <tokamax/scipy/special/bessel.hpp>  // bessel_i0e

namespace tokamax {

/// Weights of n points, which fall toward both ends the more, the larger beta is; a single point has 1.
///
///   i0(beta sqrt(1 - t^2)) / i0(beta) for t from -1 to 1
///
/// dtypes  f32; beta is a scalar
/// source  jax.numpy.kaiser. Exponentials are taken of differences, so that a beta above 88 does not overflow
constexpr array kaiser(std::int64_t n, const array& beta, source_line l = source_line::current()) {
  if (n <= 1) return ones({n < 0 ? 0 : n}, f32, l);
  const array size = abs(astype(beta, f32, l));
  const array t = iota(f32, {n}, 0, l) * (2 / static_cast<double>(n - 1)) - 1.0;
  const array x = size * sqrt(maximum((1.0 - t) * (1.0 + t), array(0.0, {f32, false, {}})));
  return exp(x - size) * (bessel_i0e(x, l) / bessel_i0e(size, l));
}

}  // namespace tokamax
