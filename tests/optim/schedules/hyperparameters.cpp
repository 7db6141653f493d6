// tests/optim/schedules/hyperparameters.cpp: numbers that follow schedules, as in tests/golden/optimisers.txt, and values of states by name.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/optimiser_rows.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using optim::named;
using tk::array;
using tk::test::check_optimiser;
using tk::test::probes;

namespace {
constexpr auto adamw = [](const array& rate, const array& b1, const array& decay) {
  return optim::adamw({.learning_rate = rate, .b1 = b1, .weight_decay = decay});
};
constexpr auto sgd = [](const array& momentum) {
  return optim::sgd({.learning_rate = 0.05, .momentum = momentum, .nesterov = true});
};
constexpr auto injected = optim::inject_hyperparams(adamw, named<"learning_rate">(optim::linear(0.1, 0.02, 20)),
                                                    named<"b1">(optim::linear(0.5, 0.9, 20)),
                                                    named<"weight_decay">(optim::linear(0.2, 0, 10)));
}  // namespace

TEST_CASE("numbers of optimisers follow schedules") {
  check_optimiser("inject", injected);
  check_optimiser("inject_sgd", optim::inject_hyperparams(sgd, named<"momentum">(optim::linear(0.9, 0.5, 20))));
}

TEST_CASE("a number in place of a schedule gives the bits of the plain optimiser") {
  const auto plain = optim::adamw({.learning_rate = 0.1, .b1 = 0.8, .weight_decay = 0.01});
  const auto same =
      optim::inject_hyperparams(adamw, named<"learning_rate">(0.1), named<"b1">(0.8), named<"weight_decay">(0.01));
  const probes p = tk::test::waves(0.9, 0.3);
  auto a = plain.init(p);
  auto b = same.init(p);
  for (int n = 0; n < 3; ++n) {
    const probes g = tk::test::waves(0.3, n);
    auto [u, next] = plain.update(g, a, p);
    auto [v, other] = same.update(g, b, p);
    a = next;
    b = other;
    CHECK(tk::to_string(tk::test::flat(u)) == tk::to_string(tk::test::flat(v)));
  }
}

TEST_CASE("the values of the last update are read by name") {
  const array x = tk::ones({2});
  auto state = injected.init(x);
  for (int n = 0; n < 3; ++n) state = injected.update(x, state, x).second;
  CHECK(optim::get(state, "hyperparams.learning_rate").item() == Approx(0.1 - 0.08 * 2 / 20));
  CHECK(optim::get(state, "b1").item() == Approx(0.5 + 0.4 * 2 / 20));
  CHECK(optim::get(state, "weight_decay").item() == Approx(0.2 - 0.2 * 2 / 10));

  const auto adam = optim::adam({.learning_rate = optim::linear(1, 0, 10)});
  const auto first = adam.update(x, adam.init(x), x).second;
  CHECK(optim::get(first, "learning_rate").item() == 1);
  CHECK(optim::get(adam.update(x, first, x).second, "learning_rate").item() == Approx(0.9));
  CHECK(optim::get(optim::set(first, "learning_rate", 0.5), "learning_rate").item() == 0.5f);
  CHECK(optim::get_all(first, "count").size() == 2);
  CHECK(optim::get_all(first, "count")[1].first == "[1].count");
  CHECK(optim::get(first, "[0].count").item<int>() == 1);
  CHECK_THROWS_WITH(optim::get(first, "rate"), contains("optim::get: found rate, expected the name of a value: ") &&
                                                   contains("[1].learning_rate"));
  CHECK_THROWS_WITH(optim::get(first, "count"), contains("a path that ends one of [0].count, [1].count"));
  CHECK_THROWS_WITH(optim::set(first, "learning_rate", x), contains("optim::set: value"));
}

TEST_CASE("a schedule that is known while compiling is part of the program") {
  struct progress {
    probes p;
    decltype(injected.init(probes{})) state = injected.init(probes{});
  };
  constexpr auto step = [](const progress& now, const probes& g) {
    auto [u, next] = injected.update(g, now.state, now.p);
    return progress{optim::apply_updates(now.p, u), next};
  };
  const probes p = tk::test::waves(0.9, 0.3);
  const progress start{p, injected.init(p)};
  const progress known = tk::jit(step, tk::cpu, tk::while_compiling)(start, p), traced = step(start, p);
  CHECK(tk::to_string(tk::test::flat(known.p)) == tk::to_string(tk::test::flat(traced.p)));
  CHECK(optim::get(known, "b1").item() == Approx(0.5));
}
