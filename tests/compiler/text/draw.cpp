// tests/compiler/text/draw.cpp: graphs, groups and plans as drawings.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/text/draw.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/random_program.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
arrays layer(const arrays& x) {  // f32[4,6], f32[4,6]
  const named_scope scope("layer", x[0]);
  const array h = tanh(x[0] * 2.0f + x[1]);
  return {h, exp(h - sum(h))};
}
int count(const std::string& s, const std::string& part) {
  int n = 0;
  for (std::size_t at = s.find(part); at != std::string::npos; at = s.find(part, at + 1)) ++n;
  return n;
}
/// Do the quotes and braces of a drawing match? Graphviz reads it then.
bool is_closed(const std::string& dot) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < dot.size(); ++i) {
    if (quoted && dot[i] == '\\') {
      ++i;
    } else if (dot[i] == '"') {
      quoted = !quoted;
    } else if (quoted && dot[i] == '\n') {
      return false;
    } else if (!quoted) {
      depth += (dot[i] == '{') - (dot[i] == '}');
    }
    if (depth < 0) return false;
  }
  return depth == 0 && !quoted;
}
}  // namespace

TEST_CASE("a graph is drawn with its operands, its scopes and its results") {
  const graph g = lowered_program(layer);
  const std::string s = to_dot(g);
  CHECK(is_closed(s));
  CHECK_THAT(s, contains("[label=\"tanh\\nf32[4,6]\\nlayer\", shape=ellipse, style=filled"));
  CHECK_THAT(s, contains("[label=\"reduce_sum\\nf32[]\\nlayer\", shape=box]"));
  CHECK(count(s, " -> ") == g.operands.count());
}

TEST_CASE("nodes that share a loop are in one box, and so is a body") {
  const graph g = lowered_program(layer);
  const std::string s = to_dot(g, fusion(g));
  CHECK(is_closed(s));
  CHECK_THAT(s, contains("subgraph cluster_group3 { label=\"phase 1\";"));
  CHECK(count(s, "subgraph") == 2);
  const graph loop = trace(
      [](const arrays& x) -> arrays {
        const auto step = [](const array& c, const array& row) { return std::pair{tanh(c) + row, c}; };
        const auto [carry, ys] = scan(step, sum(x[0], {{0}}), x[1]);
        return {carry, ys};
      },
      {{f32, false, {4, 6}}, {f32, false, {4, 6}}});
  CHECK(is_closed(to_dot(loop)));
  CHECK_THAT(to_dot(loop), contains("subgraph cluster_body0 { label=\"body 0\";") && contains("b0_n2 -> b0_n3;"));
}

TEST_CASE("a plan is drawn with the memory between its steps") {
  const plan p = planned_program(lowered_program(layer));
  const std::string s = to_dot(view(p));
  CHECK(is_closed(s));
  CHECK_THAT(s, contains("label=\"0 loop 0\\n") && contains("\\nlayer\"];"));
  CHECK_THAT(s, contains("-> s0 [label=\"input 0\"];") && contains("s0 -> s1 [label=\"output 0\"];"));
  CHECK_THAT(s, contains("s1 -> s2 [label=\"arena+0\"];"));
}

TEST_CASE("labels hold any text") {
  static const op odd{.name = "a \"quoted\\\"\nname"};
  graph g;
  const int in = g.input({f32, false, {2}});
  g.scope.name = g.names.read(0, "blocks[\"x\\\"]");
  g.outputs.push_back(g.find_or_add(&odd, sharing::none, &in, 1, nullptr, 0, {f32, false, {2}}, {}));
  CHECK(is_closed(to_dot(g)));
  CHECK_THAT(to_dot(g), contains(R"(label="a \"quoted\\\"\nname\nf32[2]\nblocks[\"x\\\"]")"));
  plan p;
  p.ops.push_back(&odd);
  plan_step st;
  st.kind = step_kind::kernel;
  p.steps.push_back(st);
  plan_region r;
  r.step_count = 1;
  p.regions.push_back(r);
  CHECK(is_closed(to_dot(view(p))));
  CHECK_THAT(to_dot(view(p)), contains(R"(label="0 a \"quoted\\\"\nname")"));
}
