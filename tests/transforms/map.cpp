// tests/transforms/map.cpp: functions on each entry of a sequence.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/elementwise/unary.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/map.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using two = std::pair<array, array>;
constexpr auto f = [](const two& x) { return std::pair{sin(x.first) * sum(x.second), sum(x.first)}; };
constexpr auto each = [](const array& v) { return sum(v * v * v); };
void check_same(const two& found, const two& expected) {
  CHECK(difference(to_values(leaves(found)), to_values(leaves(expected)), 1e-6) == "");
}
}  // namespace

TEST_CASE("map is vmap one after the other, or some at a time") {
  for (const std::int64_t n : {0, 1, 5, 6}) {
    const two xs{noise({n, 3}, 1), noise({n, 2}, 2)};
    for (const std::int64_t size : {1, 2, 3, 4, 100})
      if (n > 0 || size > 1) check_same(tokamax::map(f, xs, {.batch_size = size}), vmap(f)(xs));
  }
}

TEST_CASE("map has a gradient, and is one program") {
  using rows = tensor<f32, 5, 3>;
  const rows x = noise({5, 3}, 1);
  for (const std::int64_t size : {1, 2}) {
    const auto total = [&](const array& v) { return sum(tokamax::map(each, v, {.batch_size = size})); };
    CHECK(difference({to_value(grad(total)(x))}, {to_value(3.0f * x * x)}, 1e-6) == "");
  }
  constexpr auto program = [](const rows& v) { return tokamax::map(each, array(v), {.batch_size = 2}); };
  CHECK(bit_difference({jit(program, cpu, while_compiling)(x)}, {jit(program, cpu, at_run_time)(x)}).empty());
}

TEST_CASE("wrong batch sizes are rejected") {
  CHECK_THROWS_WITH(tokamax::map([](const array& v) { return v; }, noise({3}, 1), {.batch_size = 0}),
                    contains("map: batch_size: found 0, expected 1 or more"));
}
