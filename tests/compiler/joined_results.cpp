// tests/compiler/joined_results.cpp: kernels that write with any strides write into the array that joins their results.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/joined_results.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/functions.hpp"

using namespace tokamax;

namespace {

/// The kernels of the CPU, if those of sums wrote with any strides.
struct taken {
  kernel_takes operator()(const op& o) const {
    kernel_takes t = kernel_table_of<cpu_tag>().find(o).takes;
    t.producer = false;
    t.strided_results = &o == &reduce_sum_p;
    t.joins = &o == &concatenate_p;
    return t;
  }
};
plan planned(const auto& f, const vec<array_type>& in) {
  graph g;
  lower(g, test::trace(f, {in.begin(), in.end()}), [](const op& o) { return kernel_table_of<cpu_tag>().find(o).run; });
  return make_plan(g, taken{}, one_of_each_symbol);
}
int count_of(const plan& p, const op& o) {
  int n = 0;
  for (const plan_step& s : p.steps) n += s.kind != step_kind::loop && p.ops[s.function] == &o;
  return n;
}
const plan_operand& result_of(const plan& p, int which) {
  for (const plan_step& s : p.steps)
    if (s.kind == step_kind::kernel && p.ops[s.function] == &reduce_sum_p && which-- == 0)
      return p.operands[s.operands + s.in_count];
  FAIL("no such sum");
  return p.operands[0];
}
const vec<array_type> two{{f32, false, {5, 4, 6}}, {f32, false, {3, 4, 6}}};

}  // namespace

TEST_CASE("sums are written into the array that joins them, also reshaped") {
  const plan p = planned(
      [](const arrays& a) {
        return arrays{concatenate({reshape(sum(a[0], {{0}}), {4, 2, 3}), reshape(sum(a[1], {{0}}), {4, 2, 3})}, 1)};
      },
      two);
  CHECK(count_of(p, concatenate_p) == 0);
  REQUIRE(count_of(p, reduce_sum_p) == 2);
  const plan_operand &x = result_of(p, 0), &y = result_of(p, 1);
  CHECK(x.buffer == y.buffer);
  CHECK(p.buffers[x.buffer].kind == buffer_kind::output);
  CHECK(x.offset == 0);
  CHECK(y.offset == 6);
  CHECK(p.numbers[y.numbers] == 4);  // a sum [4, 6], of which a row lies in a row [4, 3] of the result
  CHECK(p.numbers[y.numbers + 2] == 12);
  CHECK(p.numbers[y.numbers + 3] == 1);
}

TEST_CASE("results that something else reads, or that cannot be written so, are copied") {
  const auto joins = [](const auto& f) { return count_of(planned(f, two), concatenate_p) == 0; };
  CHECK(joins([](const arrays& a) { return arrays{concatenate({sum(a[0], {{0}}), sum(a[1], {{0}})}, 0)}; }));
  CHECK_FALSE(joins([](const arrays& a) {
    const array x = sum(a[0], {{0}});
    return arrays{concatenate({x, sum(a[1], {{0}})}, 0), x};
  }));
  CHECK_FALSE(joins([](const arrays& a) {
    const array x = sum(a[0], {{0}});
    return arrays{concatenate({x, x}, 0)};
  }));
  CHECK_FALSE(joins([](const arrays& a) { return arrays{concatenate({sum(a[0], {{0}}), max(a[1], {{0}})}, 0)}; }));
}
