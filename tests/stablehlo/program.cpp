// tests/stablehlo/program.cpp: imported programs as functions: calls, gradients, arguments that do not fit, checks, threads.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/stablehlo.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vmap.hpp>

#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

using tokamax::array;
using tokamax::cpu;
using tokamax::read_stablehlo;
using tokamax::stablehlo::program;
using tokamax::test::error_of;

namespace {

const char* const square_text = R"(
module @jit_f {
  func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {
    %0 = call @square(%arg0) : (tensor<3xf32>) -> tensor<3xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<3xf32>
    %3 = stablehlo.add %arg1, %arg1 : tensor<f32>
    return %2, %3 : tensor<3xf32>, tensor<f32>
  }
  func.func private @square(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
)";

std::vector<float> numbers(const array& a) {
  const auto v = a.values<float>();
  return {v.begin(), v.end()};
}

}  // namespace

TEST_CASE("stablehlo: a program is a function of arrays") {
  const program p = read_stablehlo(square_text);
  const array x{1.0f, 2.0f, 3.0f}, s = array::from({2.0f}, {});
  for (int again = 0; again < 2; ++again) {
    const std::vector<array> y = p(cpu, {x, s});
    REQUIRE(y.size() == 2);
    CHECK(numbers(y[0]) == std::vector<float>{2, 8, 18});
    CHECK(y[1].item() == 4);
  }
  CHECK(numbers(p({x, s})[0]) == std::vector<float>{2, 8, 18});  // without a device
  const auto inside =
      tokamax::jit([p](const array& a) { return p({a, array(3.0f, {tokamax::f32, false, {}})})[0] + 1.0f; }, cpu);
  CHECK(numbers(inside(x)) == std::vector<float>{4, 13, 28});
}

TEST_CASE("stablehlo: gradients and batches of a program") {
  const program p = read_stablehlo(square_text);
  const array x{1.0f, 2.0f, 3.0f}, s = array::from({2.0f}, {});
  const auto loss = [p](const array& a, const array& b) { return tokamax::sum(p({a, b})[0]); };
  CHECK(numbers(tokamax::grad(loss)(x, s)) == std::vector<float>{4, 8, 12});
  const auto rows = tokamax::vmap([p, s](const array& a) { return p({a, s})[0]; });
  CHECK(numbers(rows(array::from({1.0f, 2.0f, 3.0f, 0.0f, 1.0f, 0.0f}, {2, 3}))) ==
        std::vector<float>{2, 8, 18, 0, 2, 0});
}

TEST_CASE("stablehlo: a program of a file, and of complex numbers") {
  const temporary_folder folder;
  const std::string path = folder
                               .write("f.mlir",
                                      "func.func @main(%z: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {\n"
                                      "  %0 = stablehlo.multiply %z, %z : tensor<2xcomplex<f32>>\n"
                                      "  return %0 : tensor<2xcomplex<f32>>\n}\n")
                               .string();
  const array z = array::from({0.0f, 1.0f, 2.0f, 1.0f}, {2, 2});
  CHECK(numbers(read_stablehlo(path)(cpu, {z})[0]) == std::vector<float>{-1, 0, 3, 4});
  CHECK_THAT(error_of([] { read_stablehlo("/none/such.mlir"); }), contains("/none/such.mlir"));
  CHECK_THAT(error_of([] { read_stablehlo("/"); }), contains("a regular file"));
}

TEST_CASE("stablehlo: arguments that do not fit are named") {
  const program p = read_stablehlo(square_text);
  CHECK_THAT(error_of([&] { p(cpu, {}); }), contains("stablehlo: arguments: found 0, expected 2"));
  CHECK_THAT(error_of([&] { p(cpu, {array{1.0f, 2.0f}, array(1.0f)}); }),
             contains("stablehlo: argument 0 (arg0): found f32[2], expected f32[3]"));
  CHECK_THAT(error_of([&] { p(cpu, {array{1.0f, 2.0f, 3.0f}, array(1)}); }),
             contains("argument 1 (arg1): found i32[]"));
}

TEST_CASE("stablehlo: comparisons have a distance") {
  const auto check = [](const std::string& kind, const std::string& a, const std::string& b) {
    return read_stablehlo("func.func @main() {\n  %a = stablehlo.constant dense<" + a +
                          "> : tensor<f32>\n  %b = stablehlo.constant dense<" + b +
                          "> : tensor<f32>\n  stablehlo.custom_call @check." + kind +
                          "(%a, %b) : (tensor<f32>, tensor<f32>) -> ()\n  return\n}\n")
        .check(cpu)[0];
  };
  CHECK(check("expect_close", "1.0", "0x3F800003").passed);
  CHECK(check("expect_close", "1.0", "0x3F800004").distance == 4);
  CHECK_FALSE(check("expect_close", "1.0", "0x3F800004").passed);
  CHECK_FALSE(check("expect_eq", "1.0", "0x3F800001").passed);
  CHECK(check("expect_close", "0x7FC00000", "0x7FC00001").passed);
  CHECK_FALSE(check("expect_close", "0x7F800000", "0x7F7FFFFF").passed);
  CHECK(check("expect_almost_eq", "1.0", "1.00009").passed);
  CHECK_FALSE(check("expect_almost_eq", "1.0", "1.0002").passed);
  CHECK_FALSE(check("expect_almost_eq", "1.0", "0x7FC00000").passed);
}

TEST_CASE("stablehlo: many threads call one program") {
  const program p = read_stablehlo(square_text);
  std::vector<std::thread> threads;
  std::vector<int> right(8);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const auto v = static_cast<float>(t);
      for (int k = 0; k < 20; ++k)
        right[static_cast<std::size_t>(t)] += numbers(p(cpu, {array{v, v, v}, array::from({1.0f}, {})})[0])[1] == v * v;
    });
  for (std::thread& t : threads) t.join();
  for (int r : right) CHECK(r == 20);
}
