// tests/compiler/passes/schedule.cpp: plans of random programs compute what the programs mean.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/passes/schedule.hpp>

#include <tokamax/ops/softmax.hpp>

#include "support/check_op.hpp"
#include "support/random_program.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("random programs and their gradients agree with the reference") {
  const std::vector<array> in{noise({4, 6}, 1) * 0.7f, noise({4, 6}, 2) * 0.7f};
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    check_values(random_program(seed, 15), in, 2e-5);
    auto pull = in;
    for (int k = 0; k < trace(random_program(seed, 8), types_of(in)).outputs.count(); ++k)
      pull.push_back(noise({4, 6}, 10));
    check_values(vjp_of(random_program(seed, 8), 2), pull, 2e-4, false);
  }
}

TEST_CASE("a value that is a result, an operand and a result again is kept") {
  check_values(
      [](const arrays& x) -> arrays {
        const array a = x[0] + x[1], t = transpose(a);
        return {a, t, a, x[0], reshape(t, {24}), full({2, 2}, 3.0), sum(a)};
      },
      {noise({4, 6}, 1), noise({4, 6}, 2)});
}

TEST_CASE("sums and products of a stored value and constants are computed again where they are read") {
  const auto f = [](bool keeps) {
    return [keeps](const arrays& x) -> arrays {
      const array y = tanh(x[0] + x[1]), gate = (y + 1.0f) * 0.5f;
      const array total = sum(y * gate);  // a kernel between two loops
      const array again = gate * broadcast_to(total, {4, 6});
      return {keeps ? again + y : again};
    };
  };
  const std::vector<array> in{noise({4, 6}, 1), noise({4, 6}, 2)};
  for (const bool keeps : {true, false}) {
    check_values(f(keeps), in);
    const plan p = planned_program(lowered_program(f(keeps)));
    REQUIRE(p.regions[0].step_count == 3);
    const plan_step first = p.steps[0];
    CHECK(first.out_count == 2);  // the operand of the sum, and y; or gate, if nothing but gate asks for y
    CHECK(p.regions[0].total_bytes == 2 * 128 + 64);
  }
}

TEST_CASE("a result that is another one reshaped is written once") {
  const auto f = [](const arrays& x) -> arrays { return {reshape(softmax(x[0]), {3, 8}), x[0] + 1.0f}; };
  const std::vector<array> in{noise({4, 6}, 1)};
  check_values(f, in);
  CHECK(planned_program(lowered_program(f)).regions[0].arena_bytes == 0);
  // A part of it is copied, and so is all of it where it is a result itself.
  check_values(
      [](const arrays& x) -> arrays {
        const array y = softmax(x[0]), z = reshape(y, {24});
        return {z, y, expand_dims(y, 0), slice_in_dim(z, 0, 23, 0), sum(z), transpose(reshape(y, {2, 12}))};
      },
      in);
}

TEST_CASE("results of programs without steps") {
  check_values([](const arrays& x) -> arrays { return {x[1], x[0]}; }, {noise({3}, 1), noise({2}, 2)});
  check_values([](const arrays&) -> arrays { return {iota(i32, {5}, 0), zeros({2})}; }, {noise({3}, 1)});
}
