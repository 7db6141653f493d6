// tests/runtime/program/program.cpp: what the compiler makes of a function, as constants.
#include <tokamax/runtime/program/program.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::array;
using matrix = tk::tensor<tk::f32, 8, 8>;

namespace {
struct chain_of_products {
  constexpr array operator()(const matrix& a) const {
    array x = a;
    for (int i = 0; i < 6; ++i) x = tk::tanh(tk::matmul(x, a) + 1.0f);
    return tk::sum(x);
  }
};
using program = tk::program<tk::cpu_tag, chain_of_products, matrix>;
static_assert(program::valid);
static_assert(program::trace.nodes[0].kind < 0, "the first node is the argument");
static_assert(program::plan::planned.size.steps == 13, "six products, six fused loops, one sum");
static_assert(program::plan::planned.size.loops == 1, "which all are the same loop");
static_assert(program::peak_bytes * 2 <= program::total_bytes);

struct wrong {
  constexpr array operator()(const matrix& a) const { return tk::matmul(a, tk::slice_in_dim(a, 0, 4, 0)); }
};
static_assert(!tk::program<tk::cpu_tag, wrong, matrix>::valid);
static_assert(tk::program<tk::cpu_tag, wrong, matrix>::traced.error.what.view() == "matmul: inner extents");
static_assert(tk::program<tk::cpu_tag, wrong, matrix>::traced.error.found.view() == "f32[4,8]");
static_assert(tk::program<tk::cpu_tag, wrong, matrix>::traced.error.expected.view() ==
              "inner extents equal: [.., 8] x [8, ..]");
static_assert(tk::program<tk::cpu_tag, wrong, matrix>::traced.error.where.line == 28);
}  // namespace

TEST_CASE("a frozen graph thaws to itself") {
  const tk::graph g = tk::thaw(view(program::trace), program::ops.at);
  CHECK(g.count() == program::traced.size.nodes);
  CHECK(g.inputs.count() == 1);
  CHECK(g.outputs.count() == 1);
  for (int i = 0; i < g.count(); ++i)
    for (int k = 0; k < g[i].operand_count; ++k) CHECK(g.operand(g[i], k) < i);
}

namespace {
constexpr tk::graph_size room = program::traced.size;
constexpr tk::graph_size with(int tk::graph_size::* table, int limit) {
  tk::graph_size s = room;
  s.*table = limit;
  return s;
}
/// What freezing the program into so much room says; empty if it fits.
template <tk::graph_size Size>
std::string refusal() {
  const tk::graph g = tk::thaw(view(program::trace), program::ops.at);
  tk::frozen_graph<Size> frozen{};
  tk::graph_size n;
  tk::detail::numbering<const tk::op*> ops;
  tk::detail::add_ops(ops, g);
  const tk::diagnostic d = tk::detail::freezer<Size>(frozen, n, ops).run(g);
  if (!d.failed) return "";
  return std::string(d.what.view()) + ", " + std::string(d.found.view()) + ", " + std::string(d.expected.view());
}
}  // namespace

TEST_CASE("the table that is too large is named") {
  CHECK(refusal<room>() == "");
  CHECK(refusal<with(&tk::graph_size::nodes, room.nodes - 1)>() ==
        "program_too_large: nodes, " + std::to_string(room.nodes) + ", at most " + std::to_string(room.nodes - 1));
  CHECK(refusal<with(&tk::graph_size::words, 1)>().starts_with("program_too_large: attribute words, "));
  CHECK(refusal<with(&tk::graph_size::types, 1)>().starts_with("program_too_large: types, "));
  CHECK(refusal<with(&tk::graph_size::ops, 2)>().starts_with("program_too_large: ops, "));
  const tk::plan_size plan = program::plan::planned.size;
  CHECK(!tk::exceeded(plan, plan).failed);
  tk::plan_size less = plan;
  --less.steps;
  CHECK(tk::exceeded(plan, less).what.view() == "program_too_large: steps");
  CHECK(tk::exceeded(plan, less).found.view() == "13");
  CHECK(tk::exceeded(plan, less).expected.view() == "at most 12");
}
