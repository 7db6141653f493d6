// tests/transforms/control_flow/while_loop.cpp: loops that end when a predicate says so.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/transforms/control_flow/while_loop.hpp>
#include <tokamax/transforms/eval_shape.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
struct state {
  array count, value;
};
/// x is doubled until it exceeds the limit; how often, and the last value.
arrays doubled(const arrays& a) {
  const state end =
      while_loop([&](const state& s) { return any(s.value < a[1]); },
                 [](const state& s) { return state{s.count + 1, s.value * 2.0f + 0.1f}; }, state{array(0), a[0]});
  return {end.value, end.count};
}
}  // namespace

TEST_CASE("a while loop keeps the contract: values and batches, whichever operand carries the axis") {
  for (const float limit : {10.0f, -10.0f})  // without any step, too
    check_function(doubled, {abs(noise({3}, 1)) + 0.1f, array(limit)}, {.differentiate = false});
}

TEST_CASE("forward mode carries values and tangents") {
  const array x = array::from<float>({0.5f, 1.5f});
  const auto f = [](const array& v) { return doubled({v, array(10.0f)})[0]; };
  const auto [y, t] = jvp(f, x, array::from<float>({1.0f, -1.0f}));
  CHECK(y.values<float>()[0] == f(x).values<float>()[0]);
  CHECK(t.values<float>()[0] == 32.0f);
  CHECK(t.values<float>()[1] == -32.0f);
}

TEST_CASE("carries that change places, and one that stays as it is") {
  using three = std::array<array, 3>;
  const auto f = [](const array& x) {
    return while_loop([](const three& c) { return sum(c[0]) < 30.0f; },
                      [](const three& c) { return three{c[1], c[0] * 2.0f + c[2], c[2]}; }, three{x, x + 1.0f, x});
  };
  array a = abs(noise({3}, 1)), b = a + 1.0f;
  const array x = a;
  while (sum(a).item() < 30.0f) {
    const array next = a * 2.0f + x;
    a = b;
    b = next;
  }
  const three y = f(x), z = jit(f, cpu, at_run_time)(x);
  for (const three& found : {y, z})
    CHECK(difference({to_value(found[0]), to_value(found[1]), to_value(found[2])},
                     {to_value(a), to_value(b), to_value(x)}, 1e-6) == "");
}

TEST_CASE("a batch of one condition for all is one loop without selects") {
  const auto f = [](const array& x) {
    return while_loop([](const state& s) { return s.count < 3; },
                      [](const state& s) { return state{s.count + 1, s.value * 2.0f}; }, state{array(0), x})
        .value;
  };
  graph g;
  array y;
  trace_into(g, vmap(f), y, array(zeros({4})));
  for (const graph& body : g.bodies)
    for (const node& n : body.nodes) CHECK((!n.op || n.op->name != "select"));
  CHECK(vmap(f)(array(ones({4}))).values<float>()[3] == 8.0f);
}

TEST_CASE("a loop that is known not to be entered is not there") {
  const auto loops_in = [](const auto& f) {
    int loops = 0;
    const graph g = make_graph(f, array({f32, false, {3}}));
    for (const node& n : g.nodes) loops += n.op && n.op->attributes.has_bodies();
    return loops;
  };
  const auto grow = [](const array& c) { return c * 2.0f; };
  const auto never = [&](const array& x) { return while_loop([](const array&) { return array(false); }, grow, x); };
  const auto counted = [](int first) {
    return [=](const array& x) {
      return while_loop([](const state& s) { return s.count < 3; },
                        [](const state& s) { return state{s.count + 1, s.value * 2.0f}; }, state{array(first), x})
          .value;
    };
  };
  CHECK(loops_in(never) == 0);
  CHECK(loops_in(counted(3)) == 0);
  CHECK(loops_in(counted(2)) == 1);
  const array x = noise({3}, 1);
  CHECK(difference({to_value(never(x))}, {to_value(x)}, 0) == "");
  CHECK(difference({to_value(counted(2)(x))}, {to_value(x * 2.0f)}, 0) == "");
  CHECK(difference({to_value(grad([&](const array& v) { return sum(counted(3)(v)); })(x))}, {to_value(ones({3}))}, 0) ==
        "");
}

TEST_CASE("wrong loops are rejected") {
  const array x = noise({3}, 1);
  const auto once = [](const array& c) { return any(c < 0.0f); };
  const auto same = [](const array& c) { return c; };
  CHECK_THROWS_WITH(while_loop(
                        once, [](const array& c) { return sum(c); }, x),
                    contains("while_loop: carry: found f32[], expected f32[3]") && contains("while_loop.cpp"));
  CHECK_THROWS_WITH(while_loop(
                        once, [](const array& c) { return astype(c, bf16); }, x),
                    contains("while_loop: carry: found bf16[3], expected f32[3]"));
  CHECK_THROWS_WITH(while_loop([](const array& c) { return c < 0.0f; }, same, x),
                    contains("while_loop: predicate: found bool[3], expected a bool scalar"));
  CHECK_THROWS_WITH(while_loop([](const array& c) { return sum(c); }, same, x),
                    contains("while_loop: predicate: found f32[], expected a bool scalar"));
  CHECK_THROWS_WITH(grad([&](const array& v) { return sum(while_loop(once, same, v)); })(x),
                    contains("while_loop: reverse mode") && contains("scan"));
}
