// tests/kernel/grid_loop.cpp: kernels that are lowered for the host, on special values: grid_loop.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel/grid_loop.hpp>

#include <tokamax/kernel.hpp>
#include <tokamax/lax/reduce.hpp>

#include "support/adversarial.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// Elements and sums of rows by a kernel whose blocks tile the array (windows) or hang over (copies).
arrays halves(const arrays& a) {
  const std::int64_t m = a[0].extent(0), n = a[0].extent(1);
  const block_spec some{{2, n}, {0, first_block}};
  const auto [first, second] = kernel_call<2>(
      [](const auto&, const auto& x, const auto& y, const auto& most) {
        y.set(-x.get());
        most.set(max(x.get(), {.axis = {1}}));
      },
      {.grid = {(m + 1) / 2},
       .in = {some},
       .out = {{{a[0].dtype(), false, {m, n}}, some}, {{a[0].dtype(), false, {m}}, {{2}, {0}}}},
       .semantics = {dimension_semantics::parallel}})(a[0]);
  return {first, second};
}
}  // namespace

TEST_CASE("the steps of grid_loop see special values, in blocks that are windows and in copies") {
  for (const dtype t : {i32, u32, bf16, f32})
    for (const shape& s : {shape{42, 5}, {43, 5}, {1, 37}, {2, 1}, {0, 4}})
      check_adversarial(halves, {adversarial(s, 3, t)});
}
TEST_CASE(
    "grid_loop keeps an output that begins with an argument, and special values of the blocks that no step writes") {
  const function f = [](const arrays& a) -> arrays {
    return kernel_call([](const auto&, const auto& in, const auto& out) { out.set(-in.get()); },
                       {.grid = {2}, .in = {{{5}, {0}}}, .out = {{a[0].type(), {{5}, {0}}, 0}}})(a[0]);
  };
  check_adversarial(f, {specials(f32, 21)});
  check_adversarial(f, {specials(f32, 7)});
}
