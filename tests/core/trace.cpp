// tests/core/trace.cpp: functions on trees as graphs.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/trace.hpp>
#include <tokamax/lax/elementwise/unary.hpp>
#include <tokamax/lax/iota.hpp>

#include "support/contains.hpp"

using namespace tokamax;

namespace {
struct pair_of_arrays {
  array a, b;
};
constexpr array_type row{f32, false, {3}};
constexpr array_type column{f32, false, {3, 1}};

constexpr bool numbers_inputs() {
  graph g;
  pair_of_arrays result;
  trace_into(
      g, [](const pair_of_arrays& p, const array& c) { return pair_of_arrays{p.b + c, p.a}; }, result,
      pair_of_arrays{array(row), array(column)}, array(row));
  return g.inputs.count() == 3 && g[g.inputs[1]].type == column && g.outputs[1] == g.inputs[0] &&
         result.a.type() == array_type{f32, false, {3, 3}} && result.a.is_abstract();
}
static_assert(numbers_inputs());
static_assert(leaves(std::pair{array(row), pair_of_arrays{array(row), array(column)}}).count() == 3);
}  // namespace

TEST_CASE("in_trace runs on data, and gives types for abstract arguments") {
  const auto f = [](graph&, const array& x) { return std::pair{exp(x), x + 1.0f}; };
  const auto [a, b] = in_trace(f, array::from<float>({0, 1}));
  CHECK(a.values<float>()[0] == 1);
  CHECK(b.values<float>()[1] == 2);
  CHECK(in_trace(f, array(row)).first.is_abstract());
}

TEST_CASE("values without traced operands join the trace of their thread") {
  graph g;
  array result;
  trace_into(g, [](const array& x) { return x + exp(iota(f32, {3}, 0)); }, result, array(row));
  CHECK(g.captured.empty());
  CHECK(current_context.trace == nullptr);
}

TEST_CASE("the trace of a thread ends when the function throws") {
  graph g;
  array result;
  CHECK_THROWS(trace_into(g, [](const array&) -> array { throw 1; }, result, array(row)));
  CHECK(current_context.trace == nullptr);
}

TEST_CASE("an array that has left its trace is refused") {
  array leaked;
  const auto leak = [&](const array& x) {
    leaked = x + 1.0f;
    return leaked;
  };
  const auto ended = contains("array of a trace that has ended: found f32[3]");
  const array data = array::from<float>({0, 1, 2});
  {
    graph g;
    array result;
    trace_into(g, leak, result, array(row));
    CHECK((leaked + 1.0f).is_traced());
  }
  CHECK_THROWS_WITH(leaked + 1.0f, ended);
  CHECK_THROWS_WITH(data + leaked, ended);
  CHECK_THROWS_WITH(exp(leaked), ended);
  CHECK_THROWS_WITH(in_trace([](graph&, const array& x) { return x; }, leaked), ended);
  CHECK_THROWS_WITH(in_trace([&](graph&, const array&) { return leaked; }, data), ended);  // another graph, same place
  CHECK_THROWS_WITH(leaked.values<float>(), contains("(of a trace that has ended)") && contains("trace.cpp:"));
  CHECK_THROWS(in_trace(
      [&](graph&, const array& x) -> array {
        leaked = x;
        throw 1;
      },
      data));
  CHECK_THROWS_WITH(leaked + data, ended);
  graph g, body;
  arrays operands;
  {
    array result;
    trace_into(
        g,
        [&](const array& x) {
          graph inner;
          trace_body(g, inner, operands, leak, x);
          return x;
        },
        result, array(row));
  }
  CHECK_THROWS_WITH(leaked + data, ended);
}

TEST_CASE("more traces at once than are counted") {
  std::vector<graph> many(5000);
  for (graph& g : many) g.life.begin();
  many.clear();
  graph g;
  g.life.begin();
  CHECK(g.life.number() != 0);
  CHECK(!trace_life::has_ended(g.life.number()));
}

TEST_CASE("with_leaves puts values in the order of leaves") {
  const pair_of_arrays p = with_leaves(pair_of_arrays{}, arrays{array(1.0f), array(2.0f), array(3.0f)}, 1);
  CHECK(p.a.literal() == 2);
  CHECK(p.b.literal() == 3);
}
