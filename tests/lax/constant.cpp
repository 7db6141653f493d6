// tests/lax/constant.cpp: tables in the text of a program, eager, traced at run time and compiled.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/text/parse.hpp>
#include <tokamax/compiler/text/print.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax;

namespace {
constexpr std::array<std::array<float, 3>, 2> table{{{1, 2, 3}, {4, 5, 6.5f}}};
constexpr auto f = [](const tensor<f32, 3>& x) {
  const array weights = constant({{1, 2}, {3, 4}, {5, 6}}, f32);
  return std::array<array, 6>{matmul(x, weights),
                              x * array{1, 2, 3} + constant({0.5f, 0.25f, 0.125f}),
                              constant(table),
                              take(constant({9223372036854775807, std::int64_t{-1}}, i64), constant({1, 0})),
                              sum(constant(table), {{1}}) * sum(x),
                              constant({{{1, 2}}, {{3, 4}}}, f16)};
};
void check(const std::array<array, 6>& y) {
  CHECK(to_string(y[0]) == "[22. 28.]");
  CHECK(to_string(y[1]) == "[1.5   4.25  9.125]");
  CHECK(to_string(y[2]) == "[[1.  2.  3. ]\n [4.  5.  6.5]]");
  CHECK(to_string(y[3]) == "[                 -1 9223372036854775807]");
  CHECK(to_string(y[4]) == "[36. 93.]");
  CHECK(to_string(y[5]) == "[[[1. 2.]]\n\n [[3. 4.]]]");
  CHECK(y[5].dtype() == f16);
}
}  // namespace

TEST_CASE("tables of numbers have the same values eager, at run time and compiled, also twice") {
  const tensor<f32, 3> x = array{1.0f, 2.0f, 3.0f};
  check(f(x));
  const auto late = jit(f, cpu, at_run_time);
  const auto compiled = jit(f, cpu, while_compiling);
  for (int k = 0; k < 2; ++k) {
    check(late(x));
    check(compiled(x));
  }
}

TEST_CASE("a table that a program changes is not written") {
  constexpr auto change = [](const tensor<i32>& at) {
    return dynamic_update_slice(constant({1, 2, 3}), constant({7}), {at});
  };
  const auto run = jit(change, cpu, while_compiling);
  for (int k = 0; k < 3; ++k) CHECK(run(tensor<i32>(array(k, {i32, false, {}}))).values<std::int32_t>()[k] == 7);
  CHECK(to_string(run(tensor<i32>(array(0, {i32, false, {}})))) == "[7 2 3]");
}

TEST_CASE("tables of one value are one node, and rows have one length") {
  constexpr auto twice = [](const tensor<f32, 2>& x) { return x * constant({2.0f, 3.0f}) + constant({2.0f, 3.0f}); };
  CHECK(to_string(jit(twice, cpu, while_compiling)(tensor<f32, 2>(array{1.0f, 1.0f}))) == "[4. 6.]");
  CHECK_THROWS_WITH(constant({{1, 2}, {3}}), contains("constant: rows"));
}

TEST_CASE("graphs with tables print and read back") {
  graph g;
  const array x(&g, g.input({f32, false, {3}}), {f32, false, {3}});
  const words w = detail::packed_elements(
      f32, {element_bits::of(1.5f), element_bits::of(-0.0f), element_bits::of(std::numeric_limits<float>::infinity())});
  const int table = detail::add_node(g, dense_p, nullptr, 0, w, x.type(), {});
  g.outputs.push_back(lift(g, x * array(&g, table, x.type())).id());
  const std::string text = to_text(g);
  CHECK_THAT(text, contains("constant [1.5, -0, inf] : f32[3]"));
  CHECK(to_text(parse_graph(text)) == text);
}
