// tests/stablehlo/rules/rules.cpp: values of operations, as programs that compare themselves, and operations that make no sense.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/compiler/text/print.hpp>
#include <tokamax/stablehlo.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"

using tokamax::test::error_of;

namespace {

struct row {
  const char* name;
  const char* text;  ///< the operations of a program, with comparisons
};

std::string program_of(const char* text) { return "func.func @main() {\n" + std::string(text) + "\n  return\n}\n"; }

void check(const row& r) {
  INFO(r.name);
  const std::vector<tokamax::stablehlo::check_result> all =
      tokamax::read_stablehlo(program_of(r.text)).check(tokamax::cpu);
  CHECK(!all.empty());
  for (const auto& c : all) {
    INFO(c.where.text() << ", distance " << c.distance);
    CHECK(c.passed);
  }
}

const row shapes[] = {
    {"broadcast along a middle axis", R"(
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<2xi32>) -> tensor<2x2x1xi32>
  %e = stablehlo.constant dense<[[[1], [2]], [[1], [2]]]> : tensor<2x2x1xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2x2x1xi32>, tensor<2x2x1xi32>) -> ())"},
    {"axes in another order", R"(
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %y = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<2x2xi32>) -> tensor<2x2xi32>
  %e = stablehlo.constant dense<[[1, 3], [2, 4]]> : tensor<2x2xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2x2xi32>, tensor<2x2xi32>) -> ())"},
    {"slices with steps, padding inside and cut edges", R"(
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %z = stablehlo.constant dense<9> : tensor<i32>
  %s = stablehlo.slice %x [1:5:2] : (tensor<5xi32>) -> tensor<2xi32>
  %p = stablehlo.pad %s, %z, low = [-1], high = [2], interior = [1] : (tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
  %e = stablehlo.constant dense<[9, 4, 9, 9]> : tensor<4xi32>
  stablehlo.custom_call @check.expect_eq(%p, %e) : (tensor<4xi32>, tensor<4xi32>) -> ())"},
    {"a negative start of a dynamic slice is 0", R"(
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<-1> : tensor<i64>
  %y = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<3xi32>, tensor<i64>) -> tensor<2xi32>
  %e = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2xi32>, tensor<2xi32>) -> ())"},
    {"an update beyond the end is moved", R"(
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %u = stablehlo.constant dense<[7, 8]> : tensor<2xi32>
  %i = stablehlo.constant dense<5> : tensor<ui8>
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<3xi32>, tensor<2xi32>, tensor<ui8>) -> tensor<3xi32>
  %e = stablehlo.constant dense<[1, 7, 8]> : tensor<3xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<3xi32>, tensor<3xi32>) -> ())"},
    {"bits as narrower and as wider elements", R"(
  %x = stablehlo.constant dense<[67305985, -1]> : tensor<2xi32>
  %y = stablehlo.bitcast_convert %x : (tensor<2xi32>) -> tensor<2x4xui8>
  %e = stablehlo.constant dense<[[1, 2, 3, 4], [255, 255, 255, 255]]> : tensor<2x4xui8>
  %z = stablehlo.bitcast_convert %y : (tensor<2x4xui8>) -> tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2x4xui8>, tensor<2x4xui8>) -> ()
  stablehlo.custom_call @check.expect_eq(%z, %x) : (tensor<2xi32>, tensor<2xi32>) -> ())"},
    {"iota of narrow floats", R"(
  %x = stablehlo.iota dim = 1 : tensor<2x3xbf16>
  %e = stablehlo.constant dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xbf16>
  stablehlo.custom_call @check.expect_eq(%x, %e) : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> ())"},
};

const row elements[] = {
    {"total order of floats", R"(
  %a = stablehlo.constant dense<[-0.0, 0x7FC00000, 1.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[0.0, 0x7F800000, 0xFFC00000]> : tensor<3xf32>
  %y = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %e = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<3xi1>, tensor<3xi1>) -> ())"},
    {"division of integers, toward zero and by zero", R"(
  %a = stablehlo.constant dense<[-7, 7, 5]> : tensor<3xi32>
  %b = stablehlo.constant dense<[2, -2, 0]> : tensor<3xi32>
  %q = stablehlo.divide %a, %b : tensor<3xi32>
  %r = stablehlo.remainder %a, %b : tensor<3xi32>
  %e = stablehlo.constant dense<[-3, -3, -1]> : tensor<3xi32>
  %f = stablehlo.constant dense<[-1, 1, 5]> : tensor<3xi32>
  stablehlo.custom_call @check.expect_eq(%q, %e) : (tensor<3xi32>, tensor<3xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r, %f) : (tensor<3xi32>, tensor<3xi32>) -> ())"},
    {"truth values are added and multiplied as logic", R"(
  %a = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %b = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  %s = stablehlo.add %a, %b : tensor<3xi1>
  %p = stablehlo.multiply %a, %b : tensor<3xi1>
  stablehlo.custom_call @check.expect_eq(%s, %a) : (tensor<3xi1>, tensor<3xi1>) -> ()
  stablehlo.custom_call @check.expect_eq(%p, %b) : (tensor<3xi1>, tensor<3xi1>) -> ())"},
    {"complex numbers: a product, a quotient and a root", R"(
  %a = stablehlo.constant dense<[(3.0, 4.0), (0.0, 2.0)]> : tensor<2xcomplex<f32>>
  %p = stablehlo.multiply %a, %a : tensor<2xcomplex<f32>>
  %q = stablehlo.divide %p, %a : tensor<2xcomplex<f32>>
  %r = stablehlo.sqrt %p : tensor<2xcomplex<f32>>
  %l = stablehlo.abs %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %e = stablehlo.constant dense<[5.0, 2.0]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_close(%l, %e) : (tensor<2xf32>, tensor<2xf32>) -> ()
  stablehlo.custom_call @check.expect_almost_eq(%q, %a) : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> ()
  stablehlo.custom_call @check.expect_almost_eq(%r, %a) : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> ())"},
    {"clamp by scalars and by arrays, select by one value", R"(
  %x = stablehlo.constant dense<[-5, 1, 5]> : tensor<3xi32>
  %low = stablehlo.constant dense<-1> : tensor<i32>
  %high = stablehlo.constant dense<[2, 0, 2]> : tensor<3xi32>
  %p = stablehlo.constant dense<true> : tensor<i1>
  %y = stablehlo.clamp %low, %x, %high : (tensor<i32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  %z = stablehlo.select %p, %y, %x : tensor<i1>, tensor<3xi32>
  %e = stablehlo.constant dense<[-1, 0, 2]> : tensor<3xi32>
  stablehlo.custom_call @check.expect_eq(%z, %e) : (tensor<3xi32>, tensor<3xi32>) -> ())"},
    {"functions of CHLO", R"(
  %x = stablehlo.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %a = chlo.erf %x : tensor<2xf32> -> tensor<2xf32>
  %b = chlo.erf_inv %a : tensor<2xf32> -> tensor<2xf32>
  %c = chlo.lgamma %x : tensor<2xf32> -> tensor<2xf32>
  %d = stablehlo.constant dense<[0.5723649, 0.0]> : tensor<2xf32>
  %n = chlo.next_after %x, %d : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %e = stablehlo.constant dense<[0x3F000001, 0x3F7FFFFF]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_almost_eq(%b, %x) : (tensor<2xf32>, tensor<2xf32>) -> ()
  stablehlo.custom_call @check.expect_almost_eq(%c, %d) : (tensor<2xf32>, tensor<2xf32>) -> ()
  stablehlo.custom_call @check.expect_eq(%n, %e) : (tensor<2xf32>, tensor<2xf32>) -> ())"},
};

const row bodies[] = {
    {"a sum, the product of an odd number of elements, and a body with its own constant", R"(
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<3xi32>
  %p = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  %b = stablehlo.reduce(%x init: %zero) across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
   reducer(%u: tensor<i32>, %v: tensor<i32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %m = stablehlo.multiply %v, %c : tensor<i32>
    %w = stablehlo.maximum %u, %m : tensor<i32>
    stablehlo.return %w : tensor<i32>
  }
  %e = stablehlo.constant dense<[5, 7, 9]> : tensor<3xi32>
  %f = stablehlo.constant dense<[6, 120]> : tensor<2xi32>
  %g = stablehlo.constant dense<[3, 6]> : tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%s, %e) : (tensor<3xi32>, tensor<3xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%p, %f) : (tensor<2xi32>, tensor<2xi32>) -> ()
  stablehlo.custom_call @check.expect_eq(%b, %g) : (tensor<2xi32>, tensor<2xi32>) -> ())"},
    {"a reduction of no elements is its initial value", R"(
  %x = stablehlo.constant dense<> : tensor<0x2xf32>
  %i = stablehlo.constant dense<7.0> : tensor<f32>
  %y = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<0x2xf32>, tensor<f32>) -> tensor<2xf32>
  %e = stablehlo.constant dense<7.0> : tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2xf32>, tensor<2xf32>) -> ())"},
    {"the place of the largest element, by a reduction of two operands", R"(
  %x = stablehlo.constant dense<[3, 9, 9, 1, 2]> : tensor<5xi32>
  %i = stablehlo.iota dim = 0 : tensor<5xi32>
  %low = stablehlo.constant dense<-9> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y:2 = stablehlo.reduce(%x init: %low), (%i init: %zero) across dimensions = [0] : (tensor<5xi32>, tensor<5xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
   reducer(%a: tensor<i32>, %c: tensor<i32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %p = stablehlo.compare GT, %a, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %q = stablehlo.compare EQ, %a, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %r = stablehlo.compare LT, %b, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %s = stablehlo.and %q, %r : tensor<i1>
    %t = stablehlo.or %p, %s : tensor<i1>
    %v = stablehlo.select %p, %a, %c : tensor<i1>, tensor<i32>
    %w = stablehlo.select %t, %b, %d : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<i32>, tensor<i32>
  }
  %e = stablehlo.constant dense<1> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%y#1, %e) : (tensor<i32>, tensor<i32>) -> ())"},
    {"windows of three elements, dilated, with padding and steps", R"(
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 3>, window_dilations = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<6xi32>, tensor<i32>) -> tensor<2xi32>
  %e = stablehlo.constant dense<[6, 12]> : tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2xi32>, tensor<2xi32>) -> ())"},
    {"the gradient of a maximum of windows", R"(
  %x = stablehlo.constant dense<[[1.0, 5.0, 2.0, 2.0]]> : tensor<1x4xf32>
  %u = stablehlo.constant dense<[[10.0, 20.0, 30.0]]> : tensor<1x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.select_and_scatter"(%x, %u, %zero) <{window_dimensions = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<1x4xf32>, tensor<1x3xf32>, tensor<f32>) -> tensor<1x4xf32>
  %e = stablehlo.constant dense<[[0.0, 30.0, 30.0, 0.0]]> : tensor<1x4xf32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<1x4xf32>, tensor<1x4xf32>) -> ())"},
    {"sorting by two keys, the second one downward", R"(
  %a = stablehlo.constant dense<[2, 1, 2, 1]> : tensor<4xi32>
  %b = stablehlo.constant dense<[5, 6, 7, 8]> : tensor<4xi32>
  %y:2 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>, %r: tensor<i32>, %s: tensor<i32>):
    %c = stablehlo.compare LT, %p, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %d = stablehlo.compare EQ, %p, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %f = stablehlo.compare GT, %r, %s, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %g = stablehlo.and %d, %f : tensor<i1>
    %h = stablehlo.or %c, %g : tensor<i1>
    stablehlo.return %h : tensor<i1>
  }) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  %e = stablehlo.constant dense<[8, 6, 7, 5]> : tensor<4xi32>
  stablehlo.custom_call @check.expect_eq(%y#1, %e) : (tensor<4xi32>, tensor<4xi32>) -> ())"},
    {"sorting by a comparator of its own, which keeps the order of equal keys", R"(
  %a = stablehlo.constant dense<[-3, 1, 3, -1, 2, -2, 0]> : tensor<7xi32>
  %y = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %r = stablehlo.abs %p : tensor<i32>
    %s = stablehlo.abs %q : tensor<i32>
    %c = stablehlo.compare GT, %r, %s, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<7xi32>) -> tensor<7xi32>
  %e = stablehlo.constant dense<[-3, 3, 2, -2, 1, -1, 0]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<7xi32>, tensor<7xi32>) -> ())"},
};

const row rows_by_index[] = {
    {"windows of a matrix; a start outside is moved", R"(
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  %i = stablehlo.constant dense<[[0, 1], [5, 0]]> : tensor<2x2xi64>
  %y = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 2>}> : (tensor<3x3xi32>, tensor<2x2xi64>) -> tensor<2x2x2xi32>
  %e = stablehlo.constant dense<[[[2, 3], [5, 6]], [[4, 5], [7, 8]]]> : tensor<2x2x2xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2x2x2xi32>, tensor<2x2x2xi32>) -> ())"},
    {"an index for each entry of a batch", R"(
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
  %y = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xi32>, tensor<2x1xi32>) -> tensor<2xi32>
  %e = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2xi32>, tensor<2xi32>) -> ())"},
    {"columns are replaced; an index outside is left out", R"(
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %i = stablehlo.constant dense<[[2], [3]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<2x3xi32>, tensor<2x1xi32>, tensor<2x2xi32>) -> tensor<2x3xi32>
  %e = stablehlo.constant dense<[[1, 2, 10], [4, 5, 20]]> : tensor<2x3xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2x3xi32>, tensor<2x3xi32>) -> ())"},
    {"many updates of one row are combined by any body", R"(
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<[[1], [0], [1], [1], [7]]> : tensor<5x1xi32>
  %u = stablehlo.constant dense<[2, 3, 4, 5, 6]> : tensor<5xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.multiply %a, %b : tensor<i32>
    stablehlo.return %p : tensor<i32>
  }) : (tensor<3xi32>, tensor<5x1xi32>, tensor<5xi32>) -> tensor<3xi32>
  %e = stablehlo.constant dense<[3, 80, 3]> : tensor<3xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<3xi32>, tensor<3xi32>) -> ())"},
    {"a window that covers a part of each row", R"(
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %i = stablehlo.constant dense<[1]> : tensor<1xi32>
  %u = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %p : tensor<i32>
  }) : (tensor<2x3xi32>, tensor<1xi32>, tensor<2xi32>) -> tensor<2x3xi32>
  %e = stablehlo.constant dense<[[1, 2, 3], [14, 25, 6]]> : tensor<2x3xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2x3xi32>, tensor<2x3xi32>) -> ())"},
};

const row products[] = {
    {"a batch of products, of integers in wider ones", R"(
  %a = stablehlo.constant dense<[[[100, 2]], [[3, 4]]]> : tensor<2x1x2xi8>
  %b = stablehlo.constant dense<[[[100], [1]], [[1], [1]]]> : tensor<2x2x1xi8>
  %y = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x1x2xi8>, tensor<2x2x1xi8>) -> tensor<2x1x1xi32>
  %e = stablehlo.constant dense<[[[10002]], [[7]]]> : tensor<2x1x1xi32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2x1x1xi32>, tensor<2x1x1xi32>) -> ())"},
    {"a convolution with features first, a reversed window and padding", R"(
  %x = stablehlo.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
  %w = stablehlo.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[1, 0]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x3xf32>
  %e = stablehlo.constant dense<[[[1.0, 12.0, 23.0]]]> : tensor<1x1x3xf32>
  stablehlo.custom_call @check.expect_close(%y, %e) : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> ())"},
    {"the gradient of a window, with the batch as features", R"(
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0], [4.0], [5.0]], [[0.0], [1.0], [0.0], [1.0], [0.0]]]> : tensor<2x5x1xf32>
  %w = stablehlo.constant dense<[[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1.0, 2.0]]]> : tensor<2x4x2xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x1xf32>, tensor<2x4x2xf32>) -> tensor<2x1x2xf32>
  %e = stablehlo.constant dense<[[[5.0, 8.0]], [[7.0, 9.0]]]> : tensor<2x1x2xf32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<2x1x2xf32>, tensor<2x1x2xf32>) -> ())"},
    {"the same with steps, dilation and padding", R"(
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]]> : tensor<1x6x1xf32>
  %w = stablehlo.constant dense<[[[1.0], [10.0], [100.0]]]> : tensor<1x3x1xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [f, 0, b]x[i, 0, o]->[b, 0, f], window = {stride = [2], pad = [[1, 0]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x1xf32>, tensor<1x3x1xf32>) -> tensor<1x2x1xf32>
  %e = stablehlo.constant dense<[[[420.0], [642.0]]]> : tensor<1x2x1xf32>
  stablehlo.custom_call @check.expect_eq(%y, %e) : (tensor<1x2x1xf32>, tensor<1x2x1xf32>) -> ())"},
    {"a transform and its inverse", R"(
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 5.0]> : tensor<4xf32>
  %y = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
  %z = stablehlo.fft %y, type = IRFFT, length = [4] : (tensor<3xcomplex<f32>>) -> tensor<4xf32>
  %i = stablehlo.imag %y : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %e = stablehlo.constant dense<[0.0, 3.0, 0.0]> : tensor<3xf32>
  stablehlo.custom_call @check.expect_almost_eq(%z, %x) : (tensor<4xf32>, tensor<4xf32>) -> ()
  stablehlo.custom_call @check.expect_almost_eq(%i, %e) : (tensor<3xf32>, tensor<3xf32>) -> ())"},
    {"a Cholesky factor solves its system", R"(
  %a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf32>
  %l = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[2.0], [5.0]]> : tensor<2x1xf32>
  %y = "stablehlo.triangular_solve"(%l, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %e = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  stablehlo.custom_call @check.expect_almost_eq(%y, %e) : (tensor<2x1xf32>, tensor<2x1xf32>) -> ())"},
    {"LAPACK's QR decomposition, in two calls", R"(
  %a = stablehlo.constant dense<[[3.0, 1.0], [4.0, 2.0]]> : tensor<2x2xf32>
  %y:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>)
  %q = stablehlo.custom_call @lapack_sorgqr_ffi(%y#0, %y#1) {mhlo.backend_config = {}} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %e = stablehlo.constant dense<[[-0.6, -0.8], [-0.8, 0.6]]> : tensor<2x2xf32>
  %f = stablehlo.constant dense<[[-5.0, -2.2], [0.5, 0.4]]> : tensor<2x2xf32>
  stablehlo.custom_call @check.expect_almost_eq(%q, %e) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
  stablehlo.custom_call @check.expect_almost_eq(%y#0, %f) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ())"},
    {"LAPACK's Cholesky factor of what has one and of what has none", R"(
  %a = stablehlo.constant dense<[[[4.0, 0.0], [2.0, 5.0]], [[1.0, 0.0], [2.0, 1.0]]]> : tensor<2x2x2xf32>
  %y:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x2x2xf32>) -> (tensor<2x2x2xf32>, tensor<2xi32>)
  %e = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%y#1, %e) : (tensor<2xi32>, tensor<2xi32>) -> ())"},
    {"LAPACK's eigenvalues, pivots and triangular systems", R"(
  %a = stablehlo.constant dense<[[2.0, 9.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %v:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<i32>)
  %b = stablehlo.constant dense<[[0.0, 1.0], [2.0, 3.0]]> : tensor<2x2xf32>
  %l:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%b) {mhlo.backend_config = {}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xi32>, tensor<i32>)
  %x = stablehlo.custom_call @lapack_strsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %e = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %f = stablehlo.constant dense<2> : tensor<2xi32>
  %g = stablehlo.constant dense<[[-9.0, -13.0], [2.0, 3.0]]> : tensor<2x2xf32>
  stablehlo.custom_call @check.expect_almost_eq(%v#1, %e) : (tensor<2xf32>, tensor<2xf32>) -> ()
  stablehlo.custom_call @check.expect_eq(%l#1, %f) : (tensor<2xi32>, tensor<2xi32>) -> ()
  stablehlo.custom_call @check.expect_almost_eq(%x, %g) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ())"},
    {"random bits by threefry", R"(
  %s = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %t, %y = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
  %e = stablehlo.constant dense<[1, 5]> : tensor<2xui64>
  stablehlo.custom_call @check.expect_eq(%t, %e) : (tensor<2xui64>, tensor<2xui64>) -> ())"},
};

const row control[] = {
    {"a loop that closes over a value", R"(
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %y:2 = stablehlo.while(%i = %zero, %s = %zero) : tensor<i32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %ten, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.add %s, %i : tensor<i32>
    stablehlo.return %n, %t : tensor<i32>, tensor<i32>
  }
  %e = stablehlo.constant dense<45> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%y#1, %e) : (tensor<i32>, tensor<i32>) -> ())"},
    {"an index outside of a case means the last branch, and the first of an if is that of true", R"(
  %x = stablehlo.constant dense<5> : tensor<i32>
  %i = stablehlo.constant dense<-1> : tensor<i32>
  %p = stablehlo.compare GT, %x, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %y = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<i32>
  }, {
    %n = stablehlo.negate %x : tensor<i32>
    stablehlo.return %n : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %z = "stablehlo.if"(%p) ({
    stablehlo.return %y : tensor<i32>
  }, {
    stablehlo.return %x : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  %e = stablehlo.constant dense<-5> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%z, %e) : (tensor<i32>, tensor<i32>) -> ())"},
};

}  // namespace

TEST_CASE("stablehlo: operations that move elements") {
  for (const row& r : shapes) check(r);
}
TEST_CASE("stablehlo: operations on elements") {
  for (const row& r : elements) check(r);
}
TEST_CASE("stablehlo: operations with bodies") {
  for (const row& r : bodies) check(r);
}
TEST_CASE("stablehlo: gather and scatter") {
  for (const row& r : rows_by_index) check(r);
}
TEST_CASE("stablehlo: products, transforms and random bits") {
  for (const row& r : products) check(r);
}
TEST_CASE("stablehlo: loops and branches") {
  for (const row& r : control) check(r);
}

TEST_CASE("stablehlo: what is wrong with an operation is told with its line") {
  constexpr const char* rows[][2] = {
      {"  %x = stablehlo.unknown_op : tensor<f32>",
       "stablehlo: operations without a rule: found stablehlo.unknown_op at line 2, column 8"},
      {"  %x = stablehlo.constant dense<1> : tensor<2xi32>\n  %y = stablehlo.reshape %x : (tensor<2xi32>) -> "
       "tensor<3xi32>",
       "stablehlo.reshape: found 2 elements, expected 3 (line 3, column 8)"},
      {"  %x = stablehlo.constant dense<1> : tensor<2xi32>\n  %y = stablehlo.convert %x : (tensor<2xi32>) -> "
       "tensor<3xf32>",
       "stablehlo.convert: found a result f32[3], expected f32[2] (line 3, column 8)"},
      {"  %x = stablehlo.constant dense<1> : tensor<2xi32>\n  %y = stablehlo.custom_call @nobody(%x) : (tensor<2xi32>) "
       "-> tensor<2xi32>",
       "the custom call \"nobody\" at line 3, column 8"},
      {"  %x = stablehlo.constant dense<1> : tensor<2xi32>\n  %y = call @nobody(%x) : (tensor<2xi32>) -> tensor<2xi32>",
       "@nobody"},
      {"  %x = stablehlo.constant dense<1> : tensor<2xi32>\n  %y = stablehlo.slice %x [0:3] : (tensor<2xi32>) -> "
       "tensor<3xi32>",
       "line 3, column 8"},
      {"  %x = stablehlo.constant dense<1> : tensor<2xi32>\n  %y = stablehlo.transpose %x, dims = [1] : "
       "(tensor<2xi32>) -> tensor<2xi32>",
       "axes of rank 1"},
      {"  %x = call @main() : () -> tensor<f32>", "calls inside of 100 others"},
  };
  for (const auto& [text, expected] : rows) {
    INFO(text);
    CHECK_THAT(error_of([&, t = text] { tokamax::read_stablehlo(program_of(t)).check(tokamax::cpu); }),
               contains(expected));
  }
}

TEST_CASE("stablehlo: a product whose free axes trade places is that of the operands in the other order") {
  using tokamax::array;
  const auto p = tokamax::read_stablehlo(R"(
func.func @main(%a: tensor<4x2x3xf32>, %b: tensor<4x5x3xf32>) -> (tensor<4x5x2xf32>, tensor<2x4x5xf32>) {
  %p = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x2x3xf32>, tensor<4x5x3xf32>) -> tensor<4x2x5xf32>
  %t = stablehlo.transpose %p, dims = [0, 2, 1] : (tensor<4x2x5xf32>) -> tensor<4x5x2xf32>
  %u = stablehlo.transpose %p, dims = [1, 0, 2] : (tensor<4x2x5xf32>) -> tensor<2x4x5xf32>
  return %t, %u : tensor<4x5x2xf32>, tensor<2x4x5xf32>
})");
  array a = array::uninitialized({tokamax::f32, false, {4, 2, 3}}),
        b = array::uninitialized({tokamax::f32, false, {4, 5, 3}});
  for (array* x : {&a, &b})
    for (int i = 0; i < x->size(); ++i) x->mutable_data<float>()[i] = static_cast<float>(i * 7 % 11 - 5);
  const std::vector<array> y = p(tokamax::cpu, {a, b});
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j)
      for (int k = 0; k < 2; ++k) {
        float sum = 0;
        for (int n = 0; n < 3; ++n) sum += a.data<float>()[(i * 2 + k) * 3 + n] * b.data<float>()[(i * 5 + j) * 3 + n];
        CHECK(y[0].data<float>()[(i * 5 + j) * 2 + k] == sum);
        CHECK(y[1].data<float>()[(k * 4 + i) * 5 + j] == sum);
      }
  tokamax::graph g;
  std::vector<array> in{array(a.type()), array(b.type())}, out;
  tokamax::trace_into(g, [&](const std::vector<array>& x) { return p(x); }, out, in);
  const std::string text = tokamax::to_text(g);
  INFO(text);
  const std::size_t first = text.find("transpose");
  CHECK(first != text.npos);
  CHECK(text.find("transpose", first + 1) == text.npos);
}

TEST_CASE("stablehlo: a comparator of keys may use constants that stand before it, as bytecode has them") {
  using tokamax::array;
  const auto p = tokamax::read_stablehlo(R"(
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %y = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.compare EQ, %a, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.select %0, %z, %a : tensor<i1>, tensor<f32>
    %2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %n, %1 : tensor<i1>, tensor<f32>
    %4 = stablehlo.compare EQ, %b, %z, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.select %4, %z, %b : tensor<i1>, tensor<f32>
    %6 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %7 = stablehlo.select %6, %n, %5 : tensor<i1>, tensor<f32>
    %8 = stablehlo.compare LT, %3, %7, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %8 : tensor<i1>
  }) : (tensor<5xf32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
})");
  const array y = p(tokamax::cpu, {array{3.0f, -1.0f, 2.0f, 0.0f, -4.0f}})[0];
  const float expected[] = {-4, -1, 0, 2, 3};
  for (int i = 0; i < 5; ++i) CHECK(y.data<float>()[i] == expected[i]);
  tokamax::graph g;
  std::vector<array> in{array(y.type())}, out;
  tokamax::trace_into(g, [&](const std::vector<array>& x) { return p(x); }, out, in);
  const std::string text = tokamax::to_text(g);
  INFO(text);
  CHECK(text.find("sort(") != text.npos);
}
