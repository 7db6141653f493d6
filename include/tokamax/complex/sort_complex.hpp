// tokamax/complex/sort_complex.hpp: complex numbers in order of their real parts.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/lax/fourier/complex_parts.hpp>  // complex_parts
#include <tokamax/lax/sort.hpp>                   // sort

namespace tokamax {

/// The numbers along the last axis in order of their real parts, and where these are equal, of their imaginary parts. Zeros of
/// both signs are equal, and NaN is the largest number.
/// source  jax.numpy.sort_complex
constexpr complex_parts sort_complex(const complex_parts& z, source_line l = source_line::current()) {
  const int last = z.rank() - 1;
  const arrays by_im = sort(arrays{z.im, z.re}, last, false, l);
  const arrays by_re = sort(arrays{by_im[1], by_im[0]}, last, false, l);  // equal keys keep their order
  return {by_re[0], by_re[1]};
}

}  // namespace tokamax
