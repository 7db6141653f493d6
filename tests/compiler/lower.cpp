// tests/compiler/lower.cpp: markers vanish, ops without kernels become what they are composed of.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/compiler/lower.hpp>
#include <tokamax/ops/softmax.hpp>

#include "support/catch.hpp"
#include "support/functions.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
graph lowered(const function& f, bool kernels) {
  graph g;
  lower(g, trace(f, {array_type{f32, false, {2, 5}}}), [=](const op& o) { return kernels && o.kernels; });
  return g;
}
bool holds(const graph& g, const op& o) {
  for (const node& n : g.nodes)
    if (n.kind == &o) return true;
  return false;
}
}  // namespace

TEST_CASE("a composite stays whole where it has a kernel and is opened where not, with the same values") {
  const function f = [](const arrays& x) -> arrays { return softmax(x[0]) * 2.0f; };
  const graph whole = lowered(f, true), opened = lowered(f, false);
  CHECK(holds(whole, softmax_p));
  CHECK(!holds(opened, softmax_p));
  CHECK(holds(opened, exp_p));
  const values in{to_value(noise({2, 5}, 1))};
  CHECK(difference(evaluate(whole, in), evaluate(opened, in), 1e-12) == "");
}

TEST_CASE("markers vanish and equal work is shared once they are gone") {
  const graph g = lowered(
      [](const arrays& x) -> arrays {
        const array a = bind(variable_p, {x[0]}, words{}, location{});
        return exp(a) + exp(stop_gradient(x[0]));
      },
      true);
  CHECK(!holds(g, variable_p));
  CHECK(!holds(g, stop_gradient_p));
  int exponentials = 0;
  for (const node& n : g.nodes) exponentials += n.kind == &exp_p;
  CHECK(exponentials == 1);
}
