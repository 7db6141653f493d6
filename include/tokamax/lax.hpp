// tokamax/lax.hpp: all of lax.
// SPDX-License-Identifier: Apache-2.0
//
//   lax/constant.hpp                   tables of numbers that are written in the program's text.
//   lax/convert.hpp                    convert_element_type and bitcast_convert_type.
//   lax/cumulative.hpp                 running sums along an axis.
//   lax/dot_general.hpp                the contraction of two arrays over any axes.
//   lax/elementwise/arithmetic.hpp     add, sub, mul, div, neg, max, min, rem, abs, sign and their operators.
//   lax/elementwise/bitwise.hpp        and, or, xor, not, shifts and bit counts of integers.
//   lax/elementwise/compare.hpp        comparisons, logic on booleans, and select.
//   lax/elementwise/composed.hpp       what functions without a kernel of their own share: they are composed in f32 or f64, and rounded once.
//   lax/elementwise/cube_root.hpp      cube roots, and powers of two.
//   lax/elementwise/division.hpp       quotients and remainders of division toward zero, and clamp.
//   lax/elementwise/elementwise.hpp    what all elementwise ops share: rules, promotion and broadcasting of operands.
//   lax/elementwise/hyperbolic.hpp     the hyperbolic sine and cosine, and the inverses of hyperbolic functions.
//   lax/elementwise/integer_power.hpp  powers of integers, which keep their low bits.
//   lax/elementwise/logaddexp.hpp      sums of numbers given by their logarithms.
//   lax/elementwise/scalar_math.hpp    the functions that element functions call, for one double.
//   lax/elementwise/special.hpp        fused multiply-add, the inverse error function and the normal distribution.
//   lax/elementwise/trigonometric.hpp  the tangent and the angles of given sines, cosines and tangents.
//   lax/elementwise/unary.hpp          elementary functions of one floating-point argument.
//   lax/fourier/transform.hpp          Fourier transforms along the last axis as ops, whose meaning is products of matrices.
//   lax/indexing/dynamic_slice.hpp     read or overwrite a box whose position is a value of the program.
//   lax/indexing/gather.hpp            rows of a table by index, and its transpose, scatter_add.
//   lax/indexing/index.hpp             parts of arrays by brackets: x[0], x[range{1, 3}], x[{whole, -1}].
//   lax/indexing/scatter.hpp           rows of a table replaced by index.
//   lax/indexing/search_sorted.hpp     the places of numbers in a sorted line.
//   lax/indexing/slice.hpp             take a box out of an array, and its transpose, pad.
//   lax/indexing/take_along.hpp        elements along one axis, whose index each has of its own.
//   lax/indexing/top_k.hpp             the largest values of each row, and where they are.
//   lax/indexing/true_positions.hpp    where the true elements of a line are.
//   lax/iota.hpp                       arrays without operands: iota, full, zeros, ones, and one_hot.
//   lax/pack_int4.hpp                  integers of 4 bits as bytes that hold two each, and back.
//   lax/reduce.hpp                     reductions over axes: sum, max, min, all, any, argmax and argmin.
//   lax/shapes/broadcast_in_dim.hpp    repeat an array along axes, and its transpose, reduce_sum.
//   lax/shapes/concatenate.hpp         arrays one after the other along an axis, old or new.
//   lax/shapes/reshape.hpp             the same elements in row-major order under other extents.
//   lax/shapes/reverse.hpp             elements in reverse order along some axes.
//   lax/shapes/split.hpp               cut an array along an axis; the transpose of concatenate.
//   lax/shapes/transpose.hpp           permute the axes of an array.
//   lax/sort.hpp                       stable sorting by a key: sort, argsort.
//   lax/stop_gradient.hpp              markers that leave values alone: stop_gradient, variable, optimization_barrier.
//   lax/windows/conv.hpp               convolutions over any number of spatial axes; their derivatives are convolutions too.
//   lax/windows/pool.hpp               the largest element, the sum and the mean of the windows of an image.
#pragma once

#include <tokamax/lax/constant.hpp>
#include <tokamax/lax/convert.hpp>
#include <tokamax/lax/cumulative.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/elementwise/arithmetic.hpp>
#include <tokamax/lax/elementwise/bitwise.hpp>
#include <tokamax/lax/elementwise/compare.hpp>
#include <tokamax/lax/elementwise/composed.hpp>
#include <tokamax/lax/elementwise/cube_root.hpp>
#include <tokamax/lax/elementwise/division.hpp>
#include <tokamax/lax/elementwise/elementwise.hpp>
#include <tokamax/lax/elementwise/hyperbolic.hpp>
#include <tokamax/lax/elementwise/integer_power.hpp>
#include <tokamax/lax/elementwise/logaddexp.hpp>
#include <tokamax/lax/elementwise/scalar_math.hpp>
#include <tokamax/lax/elementwise/special.hpp>
#include <tokamax/lax/elementwise/trigonometric.hpp>
#include <tokamax/lax/elementwise/unary.hpp>
#include <tokamax/lax/fourier/transform.hpp>
#include <tokamax/lax/indexing/dynamic_slice.hpp>
#include <tokamax/lax/indexing/gather.hpp>
#include <tokamax/lax/indexing/index.hpp>
#include <tokamax/lax/indexing/scatter.hpp>
#include <tokamax/lax/indexing/search_sorted.hpp>
#include <tokamax/lax/indexing/slice.hpp>
#include <tokamax/lax/indexing/take_along.hpp>
#include <tokamax/lax/indexing/top_k.hpp>
#include <tokamax/lax/indexing/true_positions.hpp>
#include <tokamax/lax/iota.hpp>
#include <tokamax/lax/pack_int4.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/lax/shapes/broadcast_in_dim.hpp>
#include <tokamax/lax/shapes/concatenate.hpp>
#include <tokamax/lax/shapes/reshape.hpp>
#include <tokamax/lax/shapes/reverse.hpp>
#include <tokamax/lax/shapes/split.hpp>
#include <tokamax/lax/shapes/transpose.hpp>
#include <tokamax/lax/sort.hpp>
#include <tokamax/lax/stop_gradient.hpp>
#include <tokamax/lax/windows/conv.hpp>
#include <tokamax/lax/windows/pool.hpp>
