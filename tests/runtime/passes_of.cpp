// tests/runtime/passes_of.cpp: a program after each pass.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/runtime/passes_of.hpp>

#include <tokamax/compiler/text/parse.hpp>
#include <tokamax/compiler/text/print.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax;

namespace {
constexpr auto layer = [](const array& w, const array& x) { return sum(softplus(matmul(x, stop_gradient(w)) * 2.0f)); };
}  // namespace

TEST_CASE("each pass leaves a text and a drawing") {
  const array w(array_type{f32, false, {6, 5}}), x(array_type{f32, false, {4, 6}});
  const std::vector<program_stage> stages = passes_of(layer, cpu, w, x);
  REQUIRE(stages.size() == 4);
  const char* const passes[] = {"trace", "lower", "fuse", "plan"};
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK(stages[k].pass == passes[k]);
    CHECK(stages[k].dot.starts_with("digraph "));
  }
  CHECK_THAT(stages[0].text, contains("stop_gradient(%in0)"));
  CHECK(stages[1].text.find("stop_gradient") == std::string::npos);
  CHECK(to_text(parse_graph(stages[1].text)) == stages[1].text);
  CHECK_THAT(stages[2].text, contains("phase 1: dot_general(%") && contains("reduce_sum(%"));
  CHECK_THAT(stages[3].text, contains("dot_general") && contains("-> output 0"));
}

TEST_CASE("a device whose kernels take sums has a stage more") {
  kernel_table table = kernel_table_of<cpu_tag>();
  table.find = [](const op& o) {
    kernel_set k = kernel_table_of<cpu_tag>().find(o);
    k.takes.sums = &o == &dot_general_p;
    return k;
  };
  table.joins_sums = true;
  const auto f = [](const array& w, const array& x) { return matmul(x, w) + 2.0f * sum(x) * matmul(x, w); };
  const array_type t{f32, false, {4, 4}};
  const auto bias = [](const array& w, const array& x) { return matmul(x, w) + x; };
  CHECK(passes_of(make_graph(f, array(t), array(t)), table).size() == 5);
  const std::vector<program_stage> stages = passes_of(make_graph(bias, array(t), array(t)), table);
  CHECK(stages[2].pass == "join_sums");
  CHECK_THAT(stages[1].text, contains("add(%"));
  CHECK_THAT(stages[2].text, contains("dot_general(%in1, %in0, %in1"));
}
