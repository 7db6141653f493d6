// tests/core/leaf_kind.cpp: types tell kinds of leaves apart, and gradients and optimisers change parameters only.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/leaf_kind.hpp>

#include <tokamax/checkpoint.hpp>
#include <tokamax/nn/statistic.hpp>
#include <tokamax/optim.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/functions.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using tk::array;

namespace {
struct adapter : array {  // a kind of parameters
  constexpr adapter() = default;
  constexpr adapter(const array& a) : array(a) {}
};
struct model {
  array weight = tk::ones({3});
  adapter low = tk::ones({3}) * 2;
  tk::nn::statistic seen = tk::ones({3}) * 5;
  std::vector<tk::nn::statistic> more{tk::nn::statistic(tk::ones({3}))};
};
static_assert(tk::is_leaf<adapter> && tk::is_leaf<tk::nn::statistic> && tk::is_leaf<tk::random::key>);
static_assert(tk::is_parameter<array> && tk::is_parameter<adapter> && tk::is_parameter<tk::tensor<tk::f32, 2>&>);
static_assert(!tk::is_parameter<tk::nn::statistic> && !tk::is_parameter<const tk::nn::statistic&> &&
              !tk::is_parameter<int>);

constexpr auto loss = [](const model& m, const array& x) {
  return tk::sum(m.weight * m.low * x) + tk::sum(m.seen * m.seen) + tk::sum(m.more[0]);
};
}  // namespace

TEST_CASE("the gradient of a leaf that is no parameter is zero, and others are as without it") {
  const array x = tk::test::noise({3}, 1);
  for (const bool traced : {false, true}) {
    const auto g = traced ? tk::jit(tk::grad(loss), tk::cpu, tk::at_run_time)(model{}, x) : tk::grad(loss)(model{}, x);
    CHECK(tk::to_string(g.weight) == tk::to_string(x * 2.0f));
    CHECK(tk::to_string(g.low) == tk::to_string(x));
    CHECK(tk::to_string(g.seen) == tk::to_string(tk::zeros({3})));
    CHECK(tk::to_string(g.more[0]) == tk::to_string(tk::zeros({3})));
  }
}

TEST_CASE("optimisers keep no state for what is no parameter, and leave it alone") {
  const auto check = [](const auto& optimizer) {
    const model start;
    model now = start;
    auto state = optimizer.init(now);
    for (int i = 0; i < 3; ++i) {
      auto [updates, next] = optimizer.update(tk::grad(loss)(now, tk::ones({3})), state, now);
      now = tk::optim::apply_updates(now, updates);
      state = next;
    }
    CHECK(tk::to_string(now.seen) == tk::to_string(start.seen));
    CHECK(tk::to_string(now.more[0]) == tk::to_string(start.more[0]));
    CHECK(now.weight.values<float>()[0] < 1.0f);
    std::int64_t elements = 0;
    tk::for_each_leaf([&](const auto& a) { elements += tk::is_parameter<decltype(a)> ? 0 : a.size(); }, state);
    CHECK(elements == 0);
  };
  check(tk::optim::adamw({.learning_rate = 0.1, .weight_decay = 0.5}));
  check(tk::optim::lion({.learning_rate = 0.1}));
  check(tk::optim::chain(tk::optim::clip_by_global_norm(1.0), tk::optim::sgd({.learning_rate = 0.1})));
  check(tk::optim::multi_steps(tk::optim::adam({.learning_rate = 0.1}), 2));
  check(tk::optim::schedule_free_sgd({.learning_rate = 0.1}));
  check(tk::optim::mechanize{tk::optim::sgd(0.1)});
  check(tk::optim::adafactor({.learning_rate = 0.1}));
  check(tk::optim::flatten(tk::optim::adam({.learning_rate = 0.1})));
}

TEST_CASE("kinds are saved, restored, mapped and batched as any array") {
  const temporary_folder folder;
  model m, back;
  m.seen = m.seen + 1.0f;
  tk::checkpoint::save(folder.path / "1", m);
  tk::checkpoint::restore(folder.path / "1", back);
  CHECK(back.seen.values<float>()[2] == 6.0f);
  const auto doubled = tk::tree_map([](const array& a) { return a * 2.0f; }, m);
  CHECK(doubled.more[0].values<float>()[1] == 2.0f);
  const auto each = tk::vmap([](const model& one) { return one.seen * one.weight; });
  CHECK(each(m).values<float>()[1] == 6.0f);
}
