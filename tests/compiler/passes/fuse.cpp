// tests/compiler/passes/fuse.cpp: groups of elementwise ops have no cycles, whatever the program, and read an array once.
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

namespace {

/// The loops of a program of two arrays [4, 6], those of them that a kernel runs, and what all of them write.
struct loops {
  int count = 0, run_by_kernels = 0, results = 0;
};
loops loops_of(const function& f) {
  const plan p = planned_program(lowered_program(f));
  loops l;
  for (const plan_step& s : p.steps)
    if (s.kind == step_kind::loop) {
      ++l.count;
      l.run_by_kernels += s.produces;
      l.results += s.out_count;
    }
  return l;
}
array everywhere(const array& x) { return broadcast_to(x, {4, 6}); }

struct row {
  const char* name;
  loops expected;
  function f;
};

}  // namespace

TEST_CASE("loops of one shape that read the same array are one") {
  const std::vector<row> rows{
      {"one operand in common", {1, 0, 2}, [](const arrays& x) -> arrays { return {x[0] * x[1], x[1] - 1.0f}; }},
      {"none", {2, 0, 2}, [](const arrays& x) -> arrays { return {x[0] * 2.0f, x[1] - 1.0f}; }},
      {"one by way of another",
       {1, 0, 3},
       [](const arrays& x) -> arrays { return {x[0] * 2.0f, x[1] - 1.0f, x[0] * x[1]}; }},
      {"the result of a kernel",
       {1, 0, 2},
       [](const arrays& x) -> arrays {
         const array y = matmul(matmul(x[0], transpose(x[1])), x[0]);
         return {y * x[0], tanh(y)};
       }},
      {"a moment, and a parameter that is made of it and of a number",
       {2, 0, 3},
       [](const arrays& x) -> arrays {
         const array count = slice(x[0], {0, 0}, {1, 1}) + 1.0f, m = x[0] * 0.9f + x[1];
         return {m, x[1] - m / everywhere(count), count};
       }},
      {"a moment that nothing reads waits",
       {2, 0, 3},
       [](const arrays& x) -> arrays {
         const array count = slice(x[0], {0, 0}, {1, 1}) + 1.0f;
         return {x[0] * 0.9f + x[1], everywhere(count) * sign(x[0] + 0.5f * x[1]), count};
       }},
      {"what is read before the others does not wait",
       {2, 0, 2},
       [](const arrays& x) -> arrays {
         const array y = exp(x[0] + x[1]);
         return {matmul(transpose(y), y), x[0] * everywhere(max(matmul(y, transpose(y))))};
       }},
      {"the loop of a reduction stays with it",
       {2, 1, 2},
       [](const arrays& x) -> arrays { return {sum(x[0] * x[1]), x[0] + x[1]}; }},
      {"also if it is reshaped before",
       {2, 1, 2},
       [](const arrays& x) -> arrays { return {sum(reshape(x[0] * x[1], {24})), x[0] + x[1]}; }},
      {"loops that make no output",
       {3, 0, 3},
       [](const arrays& x) -> arrays { return {matmul(exp(x[0]), transpose(sin(x[0]))), cos(x[0])}; }},
      {"what a late loop and an output are made of is not stored",
       {2, 0, 3},
       [](const arrays& x) -> arrays {
         const array count = slice(x[0], {0, 0}, {1, 1}) + 1.0f, wide = exp(x[0]);
         return {x[1] * 0.9f + wide, x[1] - everywhere(count) * sign(wide), count};
       }},
      {"another shape",
       {2, 0, 2},
       [](const arrays& x) -> arrays { return {x[0] + 1.0f, exp(slice(x[0], {0, 0}, {2, 6}))}; }},
  };
  for (const row& p : rows) {
    INFO(p.name);
    const loops found = loops_of(p.f);
    CHECK(found.count == p.expected.count);
    CHECK(found.run_by_kernels == p.expected.run_by_kernels);
    CHECK(found.results == p.expected.results);
  }
}

TEST_CASE("a hundred loops that read one array are a few") {
  const auto many = [](const arrays& x) {
    arrays y;
    for (int k = 0; k < 100; ++k) y.push_back(sin(x[0] * (k + 2.0f)));
    return y;
  };
  const loops found = loops_of(many);
  CHECK(found.results == 100);
  CHECK(found.count >= 2);
  CHECK(found.count <= 8);
}
