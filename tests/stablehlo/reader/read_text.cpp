// tests/stablehlo/reader/read_text.cpp: the text of StableHLO: its forms, its numbers, and texts that are wrong.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/stablehlo.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"

using tokamax::array;
using tokamax::shape;
using tokamax::read_stablehlo;
using tokamax::stablehlo::attribute;
using tokamax::stablehlo::function;
using tokamax::stablehlo::operation;
using tokamax::stablehlo::program;
using tokamax::test::error_of;

namespace {

std::string function_of(const std::string& operations) {
  return "func.func @main() {\n" + operations + "\n  return\n}\n";
}
/// The first operation of a program of some operations.
operation first_of(const std::string& operations) {
  return read_stablehlo(function_of(operations)).source().functions[0].body.operations[0];
}
array constant_of(const std::string& value) {
  return first_of("  %0 = stablehlo.constant " + value).attributes.find("value")->elements.re;
}

}  // namespace

TEST_CASE("stablehlo text: functions, arguments and results") {
  const program p = read_stablehlo(R"(
#loc = loc("file.py":3:0)
!t = tensor<2xf32>
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.note = "a \"b\"\0A"} {
  func.func public @main(%arg0: !t {tf.aliasing_output = 0 : i32} loc(#loc), %arg1: tensor<complex<f32>>) -> (tensor<2xf32> {jax.result_info = "[0]"}) {
    %0 = "stablehlo.add"(%arg0, %arg0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc(#loc)
    return %0 : tensor<2xf32> loc(#loc)
  } loc(#loc)
  func.func private @declared(tensor<i1>) -> tensor<i1>
} loc(#loc)
)");
  CHECK(p.source().name == "jit_f");
  CHECK(p.source().attributes.find("mhlo.note")->text == "a \"b\"\n");
  REQUIRE(p.source().functions.size() == 2);
  CHECK_FALSE(p.source().functions[1].has_body);
  REQUIRE(p.inputs().size() == 2);
  CHECK(p.inputs()[0].name == "arg0");
  CHECK(p.inputs()[0].is_donated);
  CHECK(p.inputs()[1].is_complex);
  CHECK(p.inputs()[1].type.shape == shape{2});
  CHECK(p.outputs()[0].name == "[0]");
}

TEST_CASE("stablehlo text: the general form and that of people are one operation") {
  const operation a = first_of("  %0 = \"stablehlo.iota\"() <{iota_dimension = 1 : i64}> : () -> tensor<2x3xi32>");
  const operation b = first_of("  %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>");
  for (const operation* o : {&a, &b}) {
    CHECK(o->name == "stablehlo.iota");
    CHECK(o->attributes.find("iota_dimension")->integer == 1);
    CHECK(o->types[0].extents == shape{2, 3});
  }
  CHECK(b.where.line == 2);
  CHECK(b.where.column == 8);
}

TEST_CASE("stablehlo text: dense elements") {
  CHECK(constant_of("dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>").data<std::int8_t>()[3] == -4);
  CHECK(constant_of("dense<\"0x010000000200FFFF\"> : tensor<4xi16>").data<std::int16_t>()[3] == -1);
  CHECK(constant_of("dense<\"0x05\"> : tensor<3xi1>").data<bool>()[2]);
  CHECK_FALSE(constant_of("dense<\"0x05\"> : tensor<3xi1>").data<bool>()[1]);
  CHECK(constant_of("dense<0x7F800000> : tensor<f32>").item() == std::numeric_limits<float>::infinity());
  CHECK(constant_of("dense<-1.5e+00> : tensor<f64>").item<double>() == -1.5);
  CHECK(constant_of("dense<[true, false]> : tensor<2xi1>").data<bool>()[0]);
  CHECK(constant_of("dense<18446744073709551615> : tensor<ui64>").item<std::uint64_t>() == ~std::uint64_t{0});
  CHECK(constant_of("dense<> : tensor<0x4xf32>").size() == 0);
  CHECK(constant_of("dense<1.0> : tensor<0x4xf32>").size() == 0);
  CHECK(constant_of("dense<-3> : tensor<2xi4>").literal() == -3);
  CHECK(constant_of("dense<\"0xFF\"> : tensor<20xi1>").literal() == 1);
  const auto* const value = [] {
    static const operation o =
        first_of("  %0 = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>");
    return o.attributes.find("value");
  }();
  CHECK(value->elements.re.data<float>()[1] == 3);
  CHECK(value->elements.im.data<float>()[0] == 2);
  // Equal elements take no memory, however many they are.
  const array many = constant_of("dense<7> : tensor<1000000x1000000xi8>");
  CHECK(many.is_literal());
  CHECK(many.size() == 1'000'000'000'000);
  const program p = read_stablehlo(R"(func.func @main() {
  %0 = stablehlo.constant dense_resource<blob> : tensor<2xi16>
  return
}
{-#
  dialect_resources: {
    builtin: {
      blob: "0x0800000001000200"
    }
  }
#-}
)");
  CHECK(p.source().functions[0].body.operations[0].attributes.find("value")->elements.re.data<std::int16_t>()[1] == 2);
}

TEST_CASE("stablehlo text: attributes") {
  const operation o = first_of(
      "  \"x.y\"() {a = [1 : i32, \"t\"], b = array<i64: 2, 3>, c = #stablehlo<precision HIGH>, d, e = @f, g = {h = "
      "1.5 : f32}, "
      "i = #sdy.sharding<@mesh, [{\"x\"}]>, j = tensor<2xf32>, k = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, f, 0]>} : "
      "() -> ()");
  CHECK(o.attributes.find("a")->items[1].text == "t");
  CHECK(o.attributes.find("b")->items[1].integer == 3);
  CHECK(o.attributes.find("c")->text == "HIGH");
  CHECK(o.attributes.find("d")->is == attribute::form::unit);
  CHECK(o.attributes.find("e")->text == "f");
  CHECK(o.attributes.find("g")->items[0].is == attribute::form::real);
  CHECK(o.attributes.find("i")->text == "#sdy.sharding<@mesh, [{\"x\"}]>");
  CHECK(o.attributes.find("j")->type.extents == shape{2});
  CHECK(o.attributes.find("k")->names[8] == "output_spatial_dimensions");
  CHECK(o.attributes.find("k")->items[8].items[0].integer == 2);
}

TEST_CASE("stablehlo text: wrong texts are refused with line and column") {
  const std::pair<std::string, const char*> rows[] = {
      {"func.func @main() {\n  %0 = stablehlo.add %1, %1 : tensor<f32>\n}\n",
       "found %1, expected a value that was defined before (line 2, column 22)"},
      {"func.func @main() {\n  stablehlo.add\n}\n", "line 3, column 1"},
      {"func.func @main() {\n", "found the end of the text"},
      {"func.func @main(%a: tensor<2xf33>) {\n return\n}\n", "stablehlo: argument a: found tensor<2xf33>"},
      {"func.func @main(%a: tensor<99999999999999999999xf32>) {\n return\n}\n", "too large"},
      {"func.func @main(%a: tensor<9999999999x9999999999xf32>) {\n return\n}\n", "at most 2^63 - 1 bytes"},
      {"func.func @main(%a: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) {\n return\n}\n", "at most 16"},
      {"func.func @main(%a: tensor<f32>, %a: tensor<f32>) {\n return\n}\n", "%a again"},
      {function_of("  %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>"),
       "found 3 elements where 2 are needed"},
      {function_of("  %0 = stablehlo.constant dense<\"0x00\"> : tensor<2xi32>"), "found 1 bytes where 8 are needed"},
      {function_of("  %0 = stablehlo.constant dense<\"0x0\"> : tensor<2xi32>"), "even number of digits"},
      {function_of("  %0 = stablehlo.constant dense<\"0xZZ\"> : tensor<1xi8>"), "digits of bytes"},
      {function_of("  %0 = stablehlo.constant dense<[1.5]> : tensor<1xi32>"), "found \"1.5\""},
      {function_of("  %0 = stablehlo.constant dense_resource<none> : tensor<1xi32>"), "a resource in"},
      {function_of("  %0:2 = stablehlo.constant dense<1> : tensor<1xi32>"), "found 1 types of results, expected 2"},
      {function_of("  \"x.y\"() ({\n^bb0:\n  x.z : () -> ()\n^bb1:\n}) : () -> ()"), "one block of operations"},
      {function_of("  \"x.y\"() {a = " + std::string(10000, '[') + "} : () -> ()"),
       "at most 200 parts inside one another"},
      {"module {\n  module {\n  }\n}\n", "expected a function (line 2, column 3)"},
      {"func.func @other() {\n  return\n}\n", "stablehlo: function: found no @main"},
  };
  for (const auto& [text, expected] : rows) {
    INFO(text.substr(0, 200));
    CHECK_THAT(error_of([&, t = text] { read_stablehlo(t); }), contains(expected));
  }
}
