// tests/stablehlo/rules/dynamic_rules.cpp: programs of unknown extents, which are known at the call.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/stablehlo.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"

namespace tk = tokamax;
using tk::array;
using tk::cpu;
using tk::test::error_of;

namespace {

std::vector<float> numbers(const array& a) {
  const auto v = a.values<float>();
  return {v.begin(), v.end()};
}
/// f32[n] = 0, 1, 2, ...
array counted(std::int64_t n) {
  array a = array::uninitialized({tk::f32, false, {n}});
  for (std::int64_t i = 0; i < n; ++i) a.mutable_data<float>()[i] = static_cast<float>(i);
  return a;
}
/// A program of x, a vector of unknown extent whose number is %n, with the result %y.
std::string program_of(const std::string& operations, const std::string& type = "tensor<?xf32>") {
  return "func.func @main(%x: tensor<?xf32>) -> " + type +
         " {\n  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
         "  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n  %one = stablehlo.constant dense<1> : "
         "tensor<1xi32>\n"
         "  %zero = stablehlo.constant dense<0> : tensor<1xi32>\n" +
         operations + "\n  return %y : " + type +
         "\n}\nfunc.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {\n"
         "  %r = stablehlo.add %a, %b : tensor<f32>\n  return %r : tensor<f32>\n}\n";
}
struct row {
  const char* name;
  const char* operations;
  std::vector<float> of_three, of_one;
};
const std::vector<row> rows = {
    {"elementwise", "  %y = stablehlo.add %x, %x : tensor<?xf32>", {0, 2, 4}, {0}},
    {"counts from the extent",
     "  %t = stablehlo.add %s, %one : tensor<1xi32>\n  %y = stablehlo.dynamic_iota %t, dim = 0 : (tensor<1xi32>) -> "
     "tensor<?xf32>",
     {0, 1, 2, 3},
     {0, 1}},
    {"broadcast",
     "  %c = stablehlo.constant dense<5.0> : tensor<f32>\n"
     "  %y = stablehlo.dynamic_broadcast_in_dim %c, %s, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>",
     {5, 5, 5},
     {5}},
    {"reshape",
     "  %t = stablehlo.concatenate %one, %s, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
     "  %m = stablehlo.dynamic_reshape %x, %t : (tensor<?xf32>, tensor<2xi32>) -> tensor<1x?xf32>\n"
     "  %y = stablehlo.dynamic_reshape %m, %s : (tensor<1x?xf32>, tensor<1xi32>) -> tensor<?xf32>",
     {0, 1, 2},
     {0}},
    {"pad",
     "  %c = stablehlo.constant dense<9.0> : tensor<f32>\n  %y = stablehlo.dynamic_pad %x, %c, %one, %zero, %zero : "
     "(tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>",
     {9, 0, 1, 2},
     {9, 0}},
    {"slice",
     "  %y = stablehlo.real_dynamic_slice %x, %zero, %s, %one : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, "
     "tensor<1xi32>) "
     "-> tensor<?xf32>",
     {0, 1, 2},
     {0}},
    {"gather",
     "  %i = stablehlo.constant dense<0> : tensor<1x1xi32>\n"
     "  %y = \"stablehlo.dynamic_gather\"(%x, %i, %one) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = "
     "[0], "
     "start_index_map = [0], index_vector_dim = 1>}> : (tensor<?xf32>, tensor<1x1xi32>, tensor<1xi32>) -> "
     "tensor<?xf32>",
     {0},
     {0}},
    {"windows",
     "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n  %two = stablehlo.constant dense<2> : tensor<1xi32>\n"
     "  %p = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi32>\n"
     "  %y = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %c, %two, %one, %one, %one, %p) "
     "{called_computations = "
     "[@add]} : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, "
     "tensor<1x2xi32>) -> "
     "tensor<?xf32>",
     {0, 1, 3},
     {0}},
};

}  // namespace

TEST_CASE("stablehlo: extents are known at the call, and another call may have others") {
  for (const row& r : rows) {
    INFO(r.name);
    const tk::stablehlo::program p = tk::read_stablehlo(program_of(r.operations));
    CHECK(p.inputs()[0].type.shape[0] == -1);
    CHECK(numbers(p(cpu, {counted(3)})[0]) == r.of_three);
    CHECK(numbers(p(cpu, {counted(1)})[0]) == r.of_one);
  }
}

TEST_CASE("stablehlo: what asserts extents throws its message, and extents that depend on data are refused") {
  const std::string asserts =
      "  %two = stablehlo.constant dense<2> : tensor<i32>\n  %ok = stablehlo.compare GE, %n, %two, SIGNED : "
      "(tensor<i32>, "
      "tensor<i32>) -> tensor<i1>\n  stablehlo.custom_call @shape_assertion(%ok, %n) {error_message = \"extent {0}, "
      "not 2\"} : "
      "(tensor<i1>, tensor<i32>) -> ()\n  %y = stablehlo.negate %x : tensor<?xf32>";
  const tk::stablehlo::program p = tk::read_stablehlo(program_of(asserts));
  CHECK(numbers(p(cpu, {counted(2)})[0]) == std::vector<float>{0, -1});
  CHECK_THAT(error_of([&] { p(cpu, {counted(1)}); }), contains("extent 1, not 2") && contains("line"));
  CHECK_THAT(error_of([&] { p(cpu, {array(0, {tk::f32, false, {2, 2}})}); }), contains("argument 0 (x)"));
  const std::string by_data =
      "  %i = stablehlo.convert %x : (tensor<?xf32>) -> tensor<?xi32>\n"
      "  %y = stablehlo.dynamic_iota %i, dim = 0 : (tensor<?xi32>) -> tensor<?xf32>";
  const tk::stablehlo::program q = tk::read_stablehlo(program_of(by_data));
  CHECK_THAT(error_of([&] { q(cpu, {counted(1)}); }),
             contains("stablehlo.dynamic_iota") && contains("depends on data"));
  CHECK_THAT(error_of([&] { q.verify(); }), contains("stablehlo: extents"));
}

TEST_CASE("stablehlo: the extents of a result are those that its type has") {
  const tk::stablehlo::program p = tk::read_stablehlo(
      program_of("  %y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<3xf32>", "tensor<3xf32>"));
  CHECK(numbers(p(cpu, {counted(3)})[0]) == std::vector<float>{0, 1, 2});
  CHECK_THAT(error_of([&] { p(cpu, {counted(2)}); }), contains("an extent of 2, expected 3"));
}
