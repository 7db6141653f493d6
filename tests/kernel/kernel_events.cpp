// tests/kernel/kernel_events.cpp: what the walk over a kernel tells about copies and operations.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/numpy/matmul.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// [8, 12] times [12, 16] in blocks of 4, 4 and 6, summed over the last grid axis.
arrays product(const arrays& a) {
  const auto body = [](const auto& p, const auto& x, const auto& y, const auto& o, const auto& sum) {
    p.when(p.program_id(2) == 0, [&] { sum.set(0.0f); });
    sum += matmul(x.get(), y.get());
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] { o.set(exp(sum.get())); });
  };
  return kernel_call(body, {.grid = {2, 4, 2},
                            .in = {{{4, 6}, {0, 2}}, {{6, 4}, {2, 1}}},
                            .out = {{{f32, false, {8, 16}}, {{4, 4}, {0, 1}}}},
                            .scratch = {{{f32, false, {4, 4}}}}})(a[0], a[1]);
}
const node& kernel_in(const graph& g) {
  for (int i = 0; i < g.count(); ++i)
    if (g[i].op && g[i].op->name == "kernel_call") return g[i];
  throw error("test", "no kernel", "one");
}
}  // namespace

TEST_CASE("blocks are copied when they change, and branches on the index of the step are decided") {
  const graph g = trace(product, {{f32, false, {8, 12}}, {f32, false, {12, 16}}});
  int in[2] = {}, out = 0, dots = 0;
  double transcendentals = 0;
  walk_kernel(g, kernel_in(g), [&](const kernel_event& e) {
    if (e.what == kernel_event::kind::copy_in) ++in[e.ref];
    if (e.what == kernel_event::kind::copy_out) {
      ++out;
      CHECK(e.bytes == 64);
      CHECK(e.step % 2 == 1);
    }
    if (e.function && e.function->name == "dot_general") {
      ++dots;
      CHECK(e.operands[1].shape == shape{6, 4});
    }
    transcendentals += e.cost.transcendentals * e.times;
  });
  CHECK(in[0] == 16);  // block (i, k) changes with k
  CHECK(in[1] == 16);
  CHECK(out == 8);
  CHECK(dots == 16);
  CHECK(transcendentals == 8 * 16);
  const op_cost cost = kernel_cost(g, kernel_in(g));
  CHECK(cost.flops == 16 * (2 * 4 * 4 * 6 + 16));
  CHECK(cost.bytes_accessed == 16 * 96 + 16 * 96 + 8 * 64);
}
TEST_CASE("a block that stays is copied once, ragged blocks are cut, and prefetched numbers choose blocks") {
  const function gather = [](const arrays& a) -> arrays {
    const block_spec row{
        {2, 3}, {}, [](const arrays& i) -> arrays { return {dynamic_index_in_dim(i[1], i[0], 0, false), array(0)}; }};
    return kernel_call(
        [](const auto&, const auto&, const auto& x, const auto& o) { o.set(x.get()); },
        {.grid = {3}, .in = {row}, .out = {{{f32, false, {6, 3}}, {{2, 3}, {0, first_block}}}}, .prefetch = 1})(a[0],
                                                                                                                a[1]);
  };
  const graph g = trace(gather, {{i32, false, {3}}, {f32, false, {5, 3}}});
  std::vector<shape> starts;
  double bytes = 0;
  walk_kernel(g, kernel_in(g),
              [&](const kernel_event& e) {
                if (e.what != kernel_event::kind::copy_in) return;
                starts.push_back(e.start);
                bytes += e.bytes;
              },
              {array::from<std::int32_t>({0, 0, 2})});
  CHECK(starts == std::vector<shape>{{0, 0}, {4, 0}});
  CHECK(bytes == 24 + 12);
}
