// tests/lax/arguments.fail.cpp: arguments that the functions of lax and random refuse while compiling.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/random.hpp>

#include "support/wrong_program.hpp"

using namespace wrong;
using tk::array;
using tk::shape;

using key_words = tk::tensor<tk::u32, 2>;
using some_rows = tk::tensor<tk::f32, tk::dyn(), 4>;
using bools = tk::tensor<tk::bool_, 3>;
constexpr tk::arrays one_or_none(const array& x) {
  tk::arrays xs;
  if (pick(0, 1)) xs.push_back(x);
  return xs;
}
constexpr tk::location here(std::source_location l = std::source_location::current()) { return l; }

int main() {
  // expects: "full: shape".*"f32\[-3\]".*"extents from 0 on"
  trace<vector>([](array x) { return x + tk::zeros({pick(-3, 3)}); });
  // expects: "full: shape".*"i8\[-9\]".*"extents from 0 on"
  trace<vector>([](array x) { return x + tk::ones({pick(-9, 3)}, tk::i8); });
  // expects: "full: shape".*"at most 2\^63 - 1 bytes"
  trace<vector>([](array x) { return x + tk::full({pick(1L << 40, 3L), pick(1L << 40, 3L)}, 2); });
  // expects: "full: dtype".*"none"
  trace<vector>([](array x) { return x + tk::zeros({3}, pick(tk::dtype::none, tk::f32)); });
  // expects: "iota: dtype".*"bool".*"numbers"
  trace<vector>([](array x) { return x + tk::iota(pick(tk::bool_, tk::i32), {3}, 0); });
  // expects: "iota: shape".*"\[-2,-2\]"
  trace<square>([](array x) { return x + tk::eye(pick(-2, 3)); });
  // expects: "iota: extent".*"3000000000".*"numbers of i32"
  trace<scalar>([](array x) { return x + tk::sum(tk::arange(pick(3000000000L, 3L))); });
  // expects: "iota: shape".*"\[3,-1\]"
  trace<ids>([](array i) { return tk::one_hot(i, pick(-1, 2)); });
  // expects: "reshape: extents".*"\[-1,-1\]"
  trace<matrix>([](array x) { return tk::reshape(x, {-1, pick(-1, 2)}); });
  // expects: "reshape: extents".*"\[0,-1\]".*"extents from 1 on
  trace<matrix>([](array x) { return tk::reshape(x, {pick(0, 2), -1}); });
  // expects: "reshape: number of elements".*"f32\[2,3\]".*"as many as in \[7\]"
  trace<matrix>([](array x) { return tk::reshape(x, {pick(7, 6)}); });
  // expects: "expand_dims: axis".*"7".*"an axis of rank 3"
  trace<matrix>([](array x) { return tk::expand_dims(x, pick(7, 2)); });
  // expects: "squeeze: axis".*"9".*"an axis of f32\[1,3\]"
  trace<matrix>([](array x) { return tk::squeeze(tk::slice_in_dim(x, 0, 1, 0), pick(9, 0)); });
  // expects: "reshape: shape".*"at most 16 axes"
  trace<vector>(
      [](array x) { return tk::reshape(x, pick(shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3}, {3})); });
  // expects: "swapaxes: axis".*"2".*"an axis of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::swapaxes(x, 0, pick(2, 1)); });
  // expects: "slice_in_dim: axis".*"5".*"an axis of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::slice_in_dim(x, 0, 1, pick(5, 1)); });
  // expects: "slice: bounds".*"\[0,0\]:\[2,3\]"
  trace<matrix>([](array x) { return tk::slice(x, {0, 0}, {2, 3}, {1, pick(0, 2)}); });
  // expects: "pad: amounts"
  trace<vector>([](array x) { return tk::pad(x, 0, {pick(-9, 1)}, {0}); });
  // expects: "pad: amounts"
  trace<vector>([](array x) { return tk::pad(x, 0, {1}, {0}, {pick(-1, 1)}); });
  // expects: "split: axis".*"2"
  trace<matrix>([](array x) { return tk::split(x, 1, pick(2, 1))[0]; });
  // expects: "split: parts".*"0".*"1 or more"
  trace<matrix>([](array x) { return tk::split(x, pick(0, 3), 1)[0]; });
  // expects: "concatenate: operands".*"none".*"one or more"
  trace<vector>([](array x) { return x + tk::concatenate(one_or_none(x)); });
  // expects: "concatenate: axis".*"1".*"an axis of f32\[3\]"
  trace<vector>([](array x) { return tk::concatenate({x, x}, pick(1, 0)); });
  // expects: "stack: operands".*"none"
  trace<vector>([](array x) { return x + tk::sum(tk::stack(one_or_none(x))); });
  // expects: "broadcast_to: shape".*"f32\[3\]".*"extents of 1 or those
  trace<vector>([](array x) { return tk::broadcast_to(x, {2, pick(4, 3)}); });
  // expects: "add: shapes".*"i32\[2\]".*"extents of 1 or those of
  trace<vector>([](array x) { return x + tk::arange(pick(2, 3)); });
  // expects: "reduce_sum: axis".*"\[2\]".*"axes of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::sum(x, {{pick(2, 1)}}); });
  // expects: "max: extents".*"f32\[2,0\]".*"elements along axis 1"
  trace<matrix>([](array x) { return tk::max(tk::slice_in_dim(x, 0, pick(0, 1), 1), {{1}}); });
  // expects: "argmax: axis".*"-3"
  trace<matrix>([](array x) { return tk::argmax(x, pick(-3, -2)); });
  // expects: "argmin: extent".*"f32\[0,3\]"
  trace<matrix>([](array x) { return tk::argmin(tk::slice_in_dim(x, 0, pick(0, 1), 0), 0); });
  // expects: "cumsum: axis".*"4"
  trace<matrix>([](array x) { return tk::cumsum(x, pick(4, 0)); });
  // expects: "sort: axis".*"2"
  trace<matrix>([](array x) { return tk::sort(x, pick(2, 1)); });
  // expects: "top_k: k".*"4".*"0 or more, within f32\[2,3\]"
  trace<matrix>([](array x) { return tk::top_k(x, pick(4, 2)).values; });
  // expects: "reverse: axes".*"\[0,0\]".*"axes of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::reverse(x, {0, pick(0, 1)}); });
  // expects: "take: axis".*"3".*"an axis of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::take(x, 0, pick(3, 1)); });
  // expects: "gather: index dtype".*"f32\[\]".*"i32 or i64"
  trace<matrix>([](array x) { return tk::take(x, pick(array(1.7f), array(1))); });
  // expects: "take_along_axis: axis".*"1"
  trace<vector, ids>([](array x, array i) { return tk::take_along_axis(x, i, pick(1, 0)); });
  // expects: "scatter_add: rows".*"-2".*"0 or more"
  trace<vector, ids>([](array x, array i) { return tk::scatter_add(i, x, pick(-2, 2)); });
  // expects: "dynamic_slice: sizes".*"\[-1,1\]"
  trace<matrix>([](array x) { return tk::dynamic_slice(x, {0, 0}, {pick(-1, 1), 1}); });
  // expects: "dynamic_slice_in_dim: axis".*"2"
  trace<matrix>([](array x) { return tk::dynamic_slice_in_dim(x, 0, 1, pick(2, 1)); });
  // expects: "matmul: operand".*"f32\[\]".*"one axis or more"
  trace<matrix, scalar>([](array x, array s) { return tk::matmul(pick(0, 1) ? x : s, tk::transpose(x)); });
  // expects: "matmul: inner extents".*"f32\[2,3\]".*"inner extents equal: \[\.\., 3
  trace<matrix>([](array x) { return tk::matmul(x, pick(0, 1) ? tk::transpose(x) : x); });
  // expects: "dot_general: axes".*"\[5\]\[\]".*"axes of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::dot_general(x, x, {{pick(5, 1)}, {1}, {}, {}}); });
  // expects: "dot_general: axes".*"\[0\]\[0\]".*"axes of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::dot_general(x, x, {{pick(0, 1)}, {1}, {0}, {0}}); });
  // expects: "einsum: equation".*"ii->i"
  trace<matrix>([](array x) { return tk::einsum(pick(0, 1) ? "ij->i" : "ii->i", x); });
  // expects: "conv2d: options"
  trace<image>([](array x) { return tk::conv2d(x, tk::ones({2, 2, 2, 1}), {.strides = {1, pick(0, 1)}}); });
  // expects: "conv: options"
  trace<image>([](array x) { return tk::conv2d(x, tk::ones({2, 2, 2, 1}), {.groups = pick(0, 1)}); });
  // expects: "max_pool: window".*"\[2,2\] by \[0,1\]"
  trace<image>([](array x) { return tk::max_pool(x, {2, 2}, {.strides = {pick(0, 1), 1}}); });
  // expects: "sum_pool: window".*"\[0,2\]
  trace<image>([](array x) { return tk::avg_pool(x, {pick(0, 2), 2}); });
  // expects: "random: shape".*"\[-3\]"
  trace<key_words>([](array k) { return tk::random::bits(tk::random::key(k), {pick(-3, 3)}); });
  // expects: "randint: bound".*"high".*"a number that fits i32"
  trace<key_words>([](array k) { return tk::random::randint(tk::random::key(k), {3}, 0, pick(3e9, 3.0)); });
  // expects: "sub: dtype".*"bool\[3\]".*"numbers"
  trace<bools>([](array a) { return a - pick(a, tk::astype(a, tk::f32)); });
  // expects: "select: condition".*"f32\[3\]".*"bool\[3\]"
  trace<vector>([](array a) { return tk::bind(tk::select_p, {pick(a, a > 0), a, a}, tk::words{}, here()); });
  // expects: "select: shapes".*"f32\[2\]".*"extents of 1 or those of
  trace<vector>([](array a) { return tk::select(a > 0, a, pick(tk::slice(a, {0}, {2}), a)); });
  // expects: "concatenate: operand".*"f32\[3,3\]".*"extents of f32\[2,3\]
  trace<matrix, square>([](array a, array b) { return tk::concatenate({a, b}, pick(1, 0)); });
  // expects: "bitcast_convert_type: width".*"f32\[3\]".*"bf16"
  trace<vector>([](array a) { return tk::bitcast_convert_type(a, pick(tk::bf16, tk::i32)); });
  // expects: "matmul: batch extents".*"f32\[5,3,2\]".*"extents of 1 or those of
  trace<tk::tensor<tk::f32, 4, 2, 3>, tk::tensor<tk::f32, 5, 3, 2>>(
      [](array a, array b) { return tk::matmul(a, tk::slice_in_dim(b, 0, pick(5, 4), 0)); });
  // expects: "dot_general: batch extents".*"f32\[3,3\]".*"batch extents equal: \[2,
  trace<matrix, square>(
      [](array a, array b) { return tk::dot_general(a, b, {{1}, {1}, pick(tk::axes{0}, {}), pick(tk::axes{0}, {})}); });
  // expects: "dot_general: preferred type".*"i8".*"i32, or wider of its kind"
  trace<ids>([](array a) { return tk::matmul(a, a, {.preferred_element_type = pick(tk::i8, tk::i32)}); });
  // expects: "gather: index dtype".*"f32\[3\]".*"i32 or i64"
  trace<vector, ids>([](array a, array i) { return tk::gather(a, pick(a, i)); });
  // expects: "scatter_add: updates".*"f32\[2,3\]".*"axes of i32\[3\] first"
  trace<ids, matrix>([](array i, array a) { return tk::scatter_add(i, pick(a, tk::transpose(a)), 5); });
  // expects: "iota: dimension".*"2".*"an axis of \[2,3\]"
  trace<matrix>([](array a) { return a + tk::iota(tk::f32, {2, 3}, pick(2, 1)); });
  // expects: "reduce_max: axis".*"\[0,0\]".*"axes of f32\[2,3\]"
  trace<matrix>([](array a) { return tk::max(a, {{0, pick(0, 1)}}); });
  // expects: "reshape: number of elements".*"f32\[2,3\]".*"as many as in \[3\]"
  trace<matrix>([](array a) { return tk::squeeze(tk::slice_in_dim(a, 0, pick(2, 1), 0), 0); });
  // expects: "slice: bounds".*"\[1\]:\[5\]".*"inside f32\[3\]"
  trace<vector>([](array a) { return tk::slice(a, {1}, {pick(5, 3)}); });
  // expects: "slice: bounds".*"\[1\]:\[2\]".*"inside f32\[2,3\]"
  trace<matrix>([](array a) { return tk::slice(a, pick(shape{1}, {1, 0}), pick(shape{2}, {2, 2})); });
  // expects: "pad: amounts".*"\[1\]\[1\]".*"one pair per axis of f32\[2,3\]"
  trace<matrix>([](array a) { return tk::pad(a, 0, pick(shape{1}, {1, 0}), pick(shape{1}, {1, 0})); });
  // expects: "split: extent".*"f32\[3\]".*"a multiple of 2"
  trace<vector>([](array a) { return tk::split(a, pick(2, 3))[0]; });
  // expects: "transpose: permutation".*"\[0,0\]".*"of the axes of f32\[2,3\]"
  trace<matrix>([](array a) { return tk::transpose(a, {pick(0, 1), 0}); });
  // expects: "transpose: permutation".*"\[0\]".*"of the axes of f32\[2,3\]"
  trace<matrix>([](array a) { return tk::transpose(a, pick(shape{0}, {1, 0})); });
  // expects: "exp: dtype".*"i32\[3\]".*"a floating dtype"
  trace<ids>([](array i) { return tk::bind(tk::exp_p, {pick(i, tk::astype(i, tk::f32))}, tk::words{}, here()); });
  // expects: "dynamic extent: slice".*"f32\[n,4\]".*"a part inside of axis 0 for all n"
  trace<some_rows>([](array x) { return tk::slice_in_dim(x, 0, pick(1L, 0L), 0); });
  // expects: "dynamic extent: as a number"
  trace<some_rows>([](array x) { return tk::sum(x) / pick(array(x.extent(0)), array(2)); });  // P3.3
  // expects: "dynamic extent: as a number"
  trace<some_rows>([](array x) { return tk::astype(x, tk::f16) * pick(array(x.extent(0)), array(2)); });
  // expects: "dynamic extent: as a number"
  trace<some_rows>(
      [](array x) { return tk::astype(x, tk::f8e4m3fn) * (1.0 / pick(static_cast<double>(x.extent(0)), 2.0)); });
}
