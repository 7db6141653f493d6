// tokamax/numpy.hpp: all of numpy.
// SPDX-License-Identifier: Apache-2.0
//
//   numpy/arange.hpp                     numbers in order, and the identity matrix: arange and eye.
//   numpy/clip.hpp                       numbers held between two bounds.
//   numpy/creation/matrices.hpp          diagonals and triangles of matrices: eye, tri, tril, diag, trace, vander, tril_indices.
//   numpy/creation/ranges.hpp            numbers in order: arange with a step, linspace, logspace, geomspace, meshgrid.
//   numpy/creation/windows.hpp           window functions: bartlett, blackman, hamming, hanning.
//   numpy/einsum.hpp                     sums of products written as an equation, as transposes, sums and dot_generals.
//   numpy/elementwise/arithmetic.hpp     NumPy's arithmetic of two arrays: fmax, fmod, divmod, gcd, heaviside, rounding.
//   numpy/elementwise/bits.hpp           NumPy's names for logic and bits, and truth values packed into bytes.
//   numpy/elementwise/exponential.hpp    logarithms to other bases, hypot, angles in degrees, and sinc.
//   numpy/elementwise/parts.hpp          signs, fractions and exponents of numbers, and what replaces NaN.
//   numpy/elementwise/predicates.hpp     questions about numbers: NaN, infinite, close, equal.
//   numpy/elementwise/trigonometric.hpp  NumPy's names of inverse functions, and unwrap.
//   numpy/floor_divide.hpp               quotients and remainders of flooring division.
//   numpy/indexing/at.hpp                parts of arrays by any indices, x(...), and arrays with parts changed, x.at(...).set(y).
//   numpy/indexing/choose.hpp            elements by conditions and numbers: select, choose, piecewise, put_along_axis, delete.
//   numpy/indexing/index_expression.hpp  what may stand between the parentheses of x(...): numbers, ranges, arrays, masks.
//   numpy/indexing/plan.hpp              indices of every kind, brought to one form: the rows of a table and their places.
//   numpy/manipulation/axes.hpp          the order and number of axes: moveaxis, squeeze, ravel, atleast_2d, broadcast_arrays.
//   numpy/manipulation/flip.hpp          elements in another order: flip, rot90, roll.
//   numpy/manipulation/join.hpp          arrays put together and taken apart: hstack, append, block, array_split, unstack.
//   numpy/manipulation/pad.hpp           elements added around an array: constants, copies of its edges, mirror images.
//   numpy/manipulation/repeat.hpp        copies of elements and of whole arrays: repeat, tile, resize.
//   numpy/matmul.hpp                     matrix products, batched and broadcast as NumPy does.
//   numpy/reductions/cumulative.hpp      running products and differences: cumulative_sum, nancumsum, diff, ediff1d.
//   numpy/reductions/nan.hpp             reductions that leave out NaN: nansum, nanmean, nanmax, nanvar and the like.
//   numpy/reductions/products.hpp        counts, products, ranges and averages of elements: count_nonzero, ptp, std, average.
//   numpy/reductions/quantile.hpp        quantiles and medians, also of the numbers that are not NaN.
//   numpy/signal/calculus.hpp            numerical calculus on samples: convolve, correlate, interp, trapezoid, gradient.
//   numpy/signal/contractions.hpp        products of vectors and matrices: dot, inner, outer, kron, cross, tensordot, vecdot.
//   numpy/signal/histogram.hpp           counts in intervals and relations of variables: bincount, histogram, cov, corrcoef.
//   numpy/signal/histogramdd.hpp         counts of points in boxes: histogram2d, histogramdd.
//   numpy/signal/polynomials.hpp         polynomials by their coefficients, highest power first: polyval, polymul, polydiv.
//   numpy/sorting/nonzero.hpp            where the elements that are not zero are: nonzero, argwhere, compress, extract.
//   numpy/sorting/order.hpp              orders by several keys, partitions, and places in sorted arrays.
//   numpy/sorting/unique.hpp             sets of numbers: unique, isin, union1d, intersect1d, setdiff1d, setxor1d.
//   numpy/statistics.hpp                 mean and variance.
//   numpy/take.hpp                       elements by index along one axis.
//   numpy/take_along_axis.hpp            one index per line of an array.
//   numpy/where.hpp                      one of two values by a condition.
#pragma once

#include <tokamax/numpy/arange.hpp>
#include <tokamax/numpy/clip.hpp>
#include <tokamax/numpy/creation/matrices.hpp>
#include <tokamax/numpy/creation/ranges.hpp>
#include <tokamax/numpy/creation/windows.hpp>
#include <tokamax/numpy/einsum.hpp>
#include <tokamax/numpy/elementwise/arithmetic.hpp>
#include <tokamax/numpy/elementwise/bits.hpp>
#include <tokamax/numpy/elementwise/exponential.hpp>
#include <tokamax/numpy/elementwise/parts.hpp>
#include <tokamax/numpy/elementwise/predicates.hpp>
#include <tokamax/numpy/elementwise/trigonometric.hpp>
#include <tokamax/numpy/floor_divide.hpp>
#include <tokamax/numpy/indexing/at.hpp>
#include <tokamax/numpy/indexing/choose.hpp>
#include <tokamax/numpy/indexing/index_expression.hpp>
#include <tokamax/numpy/indexing/plan.hpp>
#include <tokamax/numpy/manipulation/axes.hpp>
#include <tokamax/numpy/manipulation/flip.hpp>
#include <tokamax/numpy/manipulation/join.hpp>
#include <tokamax/numpy/manipulation/pad.hpp>
#include <tokamax/numpy/manipulation/repeat.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/reductions/cumulative.hpp>
#include <tokamax/numpy/reductions/nan.hpp>
#include <tokamax/numpy/reductions/products.hpp>
#include <tokamax/numpy/reductions/quantile.hpp>
#include <tokamax/numpy/signal/calculus.hpp>
#include <tokamax/numpy/signal/contractions.hpp>
#include <tokamax/numpy/signal/histogram.hpp>
#include <tokamax/numpy/signal/histogramdd.hpp>
#include <tokamax/numpy/signal/polynomials.hpp>
#include <tokamax/numpy/sorting/nonzero.hpp>
#include <tokamax/numpy/sorting/order.hpp>
#include <tokamax/numpy/sorting/unique.hpp>
#include <tokamax/numpy/statistics.hpp>
#include <tokamax/numpy/take.hpp>
#include <tokamax/numpy/take_along_axis.hpp>
#include <tokamax/numpy/where.hpp>
