// tests/core/graph/inline.cpp: a graph repeated in another one.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/graph/inline.hpp>
#include <tokamax/lax/elementwise/unary.hpp>
#include <tokamax/transforms/eval_shape.hpp>  // make_graph

#include "support/catch.hpp"

using namespace tokamax;

namespace {
constexpr array_type row{f32, false, {3}};

constexpr bool drops_dead_nodes() {
  const auto f = [](const array& x) {
    const array unused = sin(x);
    return exp(x);
  };
  const graph g = make_graph(f, array(row));
  graph to;
  const array x(&to, to.input(row), row);
  const arrays y = inline_graph(to, g, &x);
  return g.count() == 3 && to.count() == 2 && y[0].trace() == &to;
}
static_assert(drops_dead_nodes());

struct without_exp {
  constexpr bool handles(const op& o) const { return &o == &exp_p; }
  constexpr arrays operator()(const call& c) const { return c[0]; }
};
constexpr bool replaces() {
  const graph g = make_graph([](const array& x) { return exp(x) + 1.0f; }, array(row));
  graph to;
  const array x(&to, to.input(row), row);
  const arrays y = inline_graph(to, g, &x, without_exp{});
  return to[to.operand(to[y[0].id()], 0)].op == nullptr;  // the input itself
}
static_assert(replaces());
}  // namespace

TEST_CASE("captured data moves along") {
  const array w = array::from<float>({1, 2, 3});
  const graph g = make_graph([&](const array& x) { return x * w; }, array(row));
  graph to;
  const array x(&to, to.input(row), row);
  to.outputs.push_back(inline_graph(to, g, &x)[0].id());
  CHECK(execute_graph(to, array::from<float>({2, 2, 2}))[0].values<float>()[2] == 6);
}

TEST_CASE("live nodes are those that outputs need") {
  const auto f = [](const array& x) {
    (void)sin(x);
    return exp(x);
  };
  const graph g = make_graph(f, array(row));
  const vec<char> live = live_nodes(g);
  int count = 0;
  for (int i = 0; i < g.count(); ++i) count += live[i];
  CHECK(count == 2);
}
