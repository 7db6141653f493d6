// tests/compiler/passes/fuse.cpp: groups of elementwise ops have no cycles, whatever the program.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/compiler/passes/fuse.hpp>

#include "support/catch.hpp"
#include "support/random_program.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("the order of fused groups respects every operand") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const graph g = lowered_program(random_program(seed));
    const fusion f(g);
    std::vector<int> place(g.nodes.size());
    for (int i = 0; i < g.count(); ++i) place[static_cast<std::size_t>(f.order[i])] = i;
    // a group runs as one: it comes where its root is, so all it reads from outside must be of an earlier phase
    bool ordered = true, same_phase = true, same_extents = true;
    for (int i = 0; i < g.count(); ++i) {
      if (const int r = f.root[i]; r >= 0) {
        same_phase = same_phase && f.phase[r] == f.phase[i];
        same_extents = same_extents && g[r].type.shape == g[i].type.shape;
      }
      for (int k = 0; k < g[i].operand_count; ++k) {
        const int p = g.operand(g[i], k);
        const bool together = f.root[i] >= 0 && f.root[i] == f.root[p];
        ordered = ordered && (together || is_free(g[p]) || f.phase[p] < f.phase[i]) &&
                  place[static_cast<std::size_t>(p)] < place[static_cast<std::size_t>(i)];
      }
    }
    INFO("seed " << seed);
    REQUIRE(ordered);
    REQUIRE(same_phase);
    REQUIRE(same_extents);
  }
}

TEST_CASE("a chain is one loop; a reduction between parts it") {
  const auto loops = [](const function& f) {
    const plan p = planned_program(lowered_program(f));
    int n = 0;
    for (const plan_step& s : p.steps) n += s.kind == step_kind::loop;
    return n;
  };
  CHECK(loops([](const arrays& x) -> arrays { return tanh(x[0] * x[1] + 1.0f) - x[1]; }) == 1);
  CHECK(loops([](const arrays& x) -> arrays {
          const array e = exp(x[0]);
          return e / sum(e, {{1}, true});
        }) == 2);
  CHECK(loops([](const arrays& x) -> arrays {
          const array a = exp(x[0]);
          return {a + sum(a), sin(x[1])};
        }) <= 3);
}
