// tests/stablehlo/rules/control_rules.cpp: loops that count have a derivative; updates of one row take their turns.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/stablehlo.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::array;
using tk::cpu;

namespace {

std::vector<float> numbers(const array& a) {
  const auto v = a.values<float>();
  return {v.begin(), v.end()};
}
/// i counts from 0 to `end`, and x becomes x (i + 1).
std::string loop_of(const std::string& before, const std::string& end, const std::string& step) {
  return "func.func @main(%x: tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>) {\n  %zero = stablehlo.constant dense<0> "
         ": tensor<i32>\n" +
         before + "  %y:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<2xf32>\n  cond {\n" + end +
         "    %go = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
         "    stablehlo.return %go : tensor<i1>\n  } do {\n    %one = stablehlo.constant dense<" +
         step +
         "> : tensor<i32>\n    %next = stablehlo.add %i, %one : tensor<i32>\n"
         "    %f = stablehlo.convert %next : (tensor<i32>) -> tensor<f32>\n"
         "    %w = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2xf32>\n"
         "    %z = stablehlo.multiply %v, %w : tensor<2xf32>\n"
         "    stablehlo.return %next, %z : tensor<i32>, tensor<2xf32>\n  }\n"
         "  return %y#0, %y#1 : tensor<i32>, tensor<2xf32>\n}\n";
}
std::string constant(const std::string& n) { return "    %n = stablehlo.constant dense<" + n + "> : tensor<i32>\n"; }

}  // namespace

TEST_CASE("stablehlo: loops that count have a derivative") {
  const array x{1.0f, -2.0f};
  for (const auto& [before, end] : {std::pair{std::string(), constant("4")}, std::pair{constant("4"), std::string()}}) {
    const tk::stablehlo::program p = tk::read_stablehlo(loop_of(before, end, "1"));
    CHECK(p(cpu, {x})[0].item<int>() == 4);
    CHECK(numbers(p(cpu, {x})[1]) == std::vector<float>{24, -48});
    CHECK(numbers(tk::grad([p](const array& a) { return tk::sum(p({a})[1]); })(x)) == std::vector<float>{24, 24});
  }
  const tk::stablehlo::program none = tk::read_stablehlo(loop_of("", constant("-3"), "1"));
  CHECK(none(cpu, {x})[0].item<int>() == 0);
  CHECK(numbers(none(cpu, {x})[1]) == std::vector<float>{1, -2});
  const tk::stablehlo::program by_two = tk::read_stablehlo(loop_of("", constant("5"), "2"));  // 2, 4, 6
  CHECK(by_two(cpu, {x})[0].item<int>() == 6);
  CHECK(numbers(by_two(cpu, {x})[1]) == std::vector<float>{48, -96});
}

TEST_CASE("stablehlo: a body that cannot combine updates is applied once for each") {
  const tk::stablehlo::program p = tk::read_stablehlo(R"(
func.func @main(%x: tensor<3xf32>, %i: tensor<4x1xi32>, %u: tensor<4xf32>) -> tensor<3xf32> {
  %y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %t = stablehlo.multiply %a, %two : tensor<f32>
    %s = stablehlo.add %t, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
)");
  const array x{1.0f, 10.0f, 100.0f}, i = array::from<std::int32_t>({2, 0, 2, 7}, {4, 1}), u{1.0f, 2.0f, 3.0f, 4.0f};
  // Row 2 becomes 2 (2 * 100 + 1) + 3, and the last update lies outside.
  CHECK(numbers(p(cpu, {x, i, u})[0]) == std::vector<float>{4, 10, 405});
}
