// tests/kernel/kernel_rules.cpp: kernels on special values: kernel_call against its steps on copies of blocks.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel/kernel_rules.hpp>

#include <tokamax/kernel.hpp>
#include <tokamax/numpy/matmul.hpp>

#include "support/adversarial.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("kernel_call moves special values in blocks, also in those that hang over and without an element") {
  const function f = [](const arrays& a) -> arrays {
    const std::int64_t m = a[0].extent(0), n = a[0].extent(1);
    const block_spec here{{2, 4}, {0, 1}}, turned{{4, 2}, {1, 0}};
    const array_type same{a[0].dtype(), false, {m, n}}, across{a[0].dtype(), false, {n, m}};
    const auto [first, second] = kernel_call<2>(
        [](const auto&, const auto& x, const auto& y, const auto& z) {
          y.set(x.get());
          z.set(swapaxes(x.get(), 0, 1));
        },
        {.grid = {(m + 1) / 2, (n + 3) / 4}, .in = {here}, .out = {{same, here}, {across, turned}}})(a[0]);
    return {first, second};
  };
  for (const dtype t : every_dtype)
    for (const shape& s : {shape{6, 8}, {7, 9}, {1, 1}, {0, 5}, {5, 0}}) check_adversarial(f, {adversarial(s, 3, t)});
}
TEST_CASE("kernel_call adds special values in the order of its steps, in scratch memory") {
  const function f = [](const arrays& a) -> arrays {
    const array_type row{a[0].dtype(), false, {a[0].extent(1)}};
    const auto body = [](const auto& p, const auto& x, const auto& out, const auto& so_far) {
      p.when(p.program_id(1) == 0, [&] { so_far.set(0.0f); });
      so_far += x.get();
      p.when(p.program_id(1) == p.num_programs(1) - 1, [&] { out.set(so_far.get()); });
    };
    return kernel_call(body, {.grid = {3, a[0].extent(0)},
                              .in = {{{squeezed, 4}, {1, 0}}},
                              .out = {{row, {{4}, {0}}}},
                              .scratch = {{{a[0].dtype(), false, {4}}}},
                              .semantics = {dimension_semantics::parallel}})(a[0]);
  };
  // Sums of three elements, of which one at most is not a small whole number: they are exact in f32 up to its own rounding.
  const array x = sprinkled({3, 12}, 3), y = reshape(specials(f32, 36), {3, 12});
  for (const array& v : {x, y}) check_adversarial(f, {v}, {.tolerance = 1e-6, .floor = 1});
}
TEST_CASE("a product in kernel_call carries NaN and infinities where sums do") {
  const function f = [](const arrays& a) -> arrays {
    const auto body = [](const auto& p, const auto& x, const auto& y, const auto& out) {
      p.when(p.program_id(2) == 0, [&] { out.set(0.0f); });
      out += matmul(x.get(), y.get());
    };
    const std::int64_t m = a[0].extent(0), n = a[1].extent(1);
    return kernel_call(body, {.grid = {m / 2, n / 4, a[0].extent(1) / 3},
                              .in = {{{2, 3}, {0, 2}}, {{3, 4}, {2, 1}}},
                              .out = {{{f32, false, {m, n}}, {{2, 4}, {0, 1}}}}})(a[0], a[1]);
  };
  check_adversarial(f, {sprinkled({42, 6}, 1, f32, 100), sprinkled({6, 8}, 30, f32, 100)},
                    {.tolerance = 1e-5, .floor = 30});
}
