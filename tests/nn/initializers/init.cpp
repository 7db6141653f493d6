// tests/nn/initializers/init.cpp: whole models get values from one key.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/nn/initializers/init.hpp>
#include <tokamax/nn/linear/embed.hpp>
#include <tokamax/nn/linear/linear.hpp>
#include <tokamax/nn/norms/layer_norm.hpp>

#include <array>

#include "support/contains.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

namespace {

struct stage {
  nn::linear up{4, 8};
  nn::layer_norm norm{8};
};
struct model {
  nn::embed token{10, 4};
  std::array<stage, 2> stages{};
  int steps = 3;
  array gain = tk::full({4}, 0.5);
};
struct bare {
  array weight = nn::parameter({3});
};

constexpr bool traces() {
  const model m = tk::init<model>(tk::random::key());  // of an abstract key: types alone
  return m.stages[1].up.kernel.shape() == tk::shape{4, 8} && m.steps == 3;
}
static_assert(traces());

}  // namespace

TEST_CASE("init fills every array and leaves the rest alone") {
  const model m = tk::init<model>(tk::random::key(42));
  tk::for_each_leaf([](const array& a) { CHECK(a.is_concrete()); }, m);
  CHECK(m.steps == 3);
  CHECK(tk::test::distance(m.gain, tk::full({4}, 0.5)) == 0);
  CHECK(tk::test::distance(m.stages[0].norm.scale, tk::ones({8})) == 0);
}

TEST_CASE("init is a function of the key, and no two layers get the same values") {
  const model a = tk::init<model>(tk::random::key(1)), b = tk::init<model>(tk::random::key(1)),
              c = tk::init<model>(tk::random::key(2));
  CHECK(tk::test::distance(a.stages[1].up.kernel, b.stages[1].up.kernel) == 0);
  CHECK(tk::test::distance(a.stages[1].up.kernel, c.stages[1].up.kernel) > 0.1);
  CHECK(tk::test::distance(a.stages[1].up.kernel, a.stages[0].up.kernel) > 0.1);
}

TEST_CASE("an array without a value or a rule is a mistake") {
  CHECK_THROWS_WITH(tk::init<bare>(tk::random::key(1)),
                    contains("init: parameter without a rule") && contains("f32[3]"));
}
