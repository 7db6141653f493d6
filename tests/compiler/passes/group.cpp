// tests/compiler/passes/group.cpp: small loops of one kernel stand together in a plan, and only where nothing waits for them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/passes/group.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/functions.hpp"
#include "support/random_program.hpp"

using namespace tokamax;

namespace {

/// The kernels of the CPU, for a device that starts several loops at once.
struct grouping {
  detail::taken_by_table table{kernel_table_of<cpu_tag>()};
  bool groups_loops = true;
  kernel_takes operator()(const op& o) const { return table(o); }
};
plan planned(const graph& traced, const auto& takes) {
  graph g;
  lower(g, traced, [](const op& o) { return kernel_table_of<cpu_tag>().find(o).run; });
  return make_plan(g, takes, one_of_each_symbol);
}
plan grouped(const graph& traced) { return planned(traced, grouping{}); }

}  // namespace

TEST_CASE("updates of parameters run together behind the last of them") {
  const auto step = [](const arrays& a) {
    arrays next;
    for (std::size_t k = 0; k + 1 < a.size(); ++k) {
      const array g = sum(a.back() * static_cast<float>(k + 1), {{0}});  // a kernel before each update
      next.push_back(a[k] - 0.1f * g);
    }
    return next;
  };
  const plan p =
      grouped(test::trace(step, {{f32, false, {8}}, {f32, false, {8}}, {f32, false, {8}}, {f32, false, {4, 8}}}));
  int together = 0;
  for (int s = 0; s < p.steps.count(); ++s) together = std::max(together, p.steps[s].together);
  CHECK(together == 2);
  CHECK(p.steps[p.steps.count() - 3].together == 2);
}

TEST_CASE("a loop does not move behind a step that reads its result") {
  const auto chain = [](const arrays& a) {
    const array x = exp(a[0]), y = sum(x, {{0}}), z = exp(y + a[1]), w = exp(sum(z) + a[1]);
    return arrays{x, w};
  };
  const plan p = grouped(test::trace(chain, {{f32, false, {4, 8}}, {f32, false, {8}}}));
  for (int s = 0; s < p.steps.count(); ++s) CHECK(p.steps[s].together == 0);
}

TEST_CASE("groups keep the steps of a program, each after those that it needs") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const graph g = test::trace(test::random_program(seed), {{f32, false, {4, 6}}, {f32, false, {4, 6}}});
    const plan plain = planned(g, detail::taken_by_table{kernel_table_of<cpu_tag>()}), p = grouped(g);
    REQUIRE(p.steps.count() == plain.steps.count());
    std::vector<char> written(p.buffers.size(), 0);
    std::vector<int> results;  // of the steps that run together
    for (int s = 0, end = 0; s < p.steps.count(); ++s) {
      const plan_step& st = p.steps[s];
      if (s == end) end = end_of_joined(p.steps.data(), s);
      for (int k = 0; k < st.in_count + st.out_count; ++k) {
        const int b = p.operands[st.operands + k].buffer;
        if (b < 0 || p.buffers[b].kind != buffer_kind::arena) continue;
        if (k < st.in_count)
          CHECK(written[static_cast<std::size_t>(b)]);
        else
          results.push_back(b);
      }
      if (s + 1 < end) continue;
      for (const int b : results) written[static_cast<std::size_t>(b)] = 1;
      results.clear();
    }
  }
}
