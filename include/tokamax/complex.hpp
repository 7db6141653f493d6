// tokamax/complex.hpp: all of complex.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (a program of complex numbers includes it)
//
//   complex/arithmetic.hpp     squares, reciprocals, signs and tests of complex numbers.
//   complex/complex_grad.hpp   gradients by complex numbers as JAX counts them, and complex derivatives.
//   complex/exponential.hpp    exponentials, logarithms, roots and powers of complex numbers.
//   complex/fourier.hpp        Fourier transforms along any axis, of any length, with the scales of NumPy.
//   complex/fourier_nd.hpp     Fourier transforms along several axes, and the frequencies of their elements.
//   complex/holomorphic.hpp    complex functions whose derivative is a formula.
//   complex/inverse.hpp        inverses of sines, cosines and tangents of complex numbers, hyperbolic ones too.
//   complex/products.hpp       products of complex vectors and matrices, as four real ones: matmul, einsum, dot, convolve.
//   complex/reductions.hpp     sums, means, products and moments of complex numbers.
//   complex/shapes.hpp         functions that move complex numbers without computing: both parts in the same way.
//   complex/sort_complex.hpp   complex numbers in order of their real parts.
//   complex/trigonometric.hpp  sines, cosines and tangents of complex numbers, hyperbolic ones too.
#pragma once

#include <tokamax/complex/arithmetic.hpp>
#include <tokamax/complex/complex_grad.hpp>
#include <tokamax/complex/exponential.hpp>
#include <tokamax/complex/fourier.hpp>
#include <tokamax/complex/fourier_nd.hpp>
#include <tokamax/complex/holomorphic.hpp>
#include <tokamax/complex/inverse.hpp>
#include <tokamax/complex/products.hpp>
#include <tokamax/complex/reductions.hpp>
#include <tokamax/complex/shapes.hpp>
#include <tokamax/complex/sort_complex.hpp>
#include <tokamax/complex/trigonometric.hpp>
