// tokamax/lax/fourier/complex_parts.hpp: an array of complex numbers as two arrays: the library has no complex dtype.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (functions with complex operands or results include it)
// tested by tests/lax/fourier/fft.cpp
#pragma once

#include <tokamax/lax/elementwise/arithmetic.hpp>  // +, -, *

namespace tokamax {

/// The real and imaginary parts, of one shape and dtype. It is a tree of two leaves, so transformations take it.
struct complex_parts {
  array re, im;
};
constexpr complex_parts operator*(const complex_parts& a, const complex_parts& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// re - i im
constexpr complex_parts conj(const complex_parts& a) { return {a.re, -a.im}; }

}  // namespace tokamax
