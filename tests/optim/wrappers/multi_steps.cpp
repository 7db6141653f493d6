// tests/optim/wrappers/multi_steps.cpp: accumulated gradients, as Optax's MultiSteps.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/adaptive/adam.hpp>
#include <tokamax/optim/descent/sgd.hpp>
#include <tokamax/optim/wrappers/multi_steps.hpp>

#include <tokamax/backend/cpu.hpp>
#include <tokamax/profile/timeline.hpp>
#include <tokamax/runtime.hpp>

#include "support/trajectory.hpp"

namespace optim = tokamax::optim;
using tokamax::test::check_trajectory;

TEST_CASE("every second call applies the mean of two gradients") {
  check_trajectory("multi_steps_2_sgd", [] { return optim::multi_steps(optim::sgd(0.1), 2); });
  check_trajectory("multi_steps_2_adam", [] { return optim::multi_steps(optim::adam({.learning_rate = 0.1}), 2); });
  check_trajectory("multi_steps_2_sgd_varying", [] { return optim::multi_steps(optim::sgd(0.01), 2); }, true);
}

namespace {
struct model {
  tokamax::tensor<tokamax::f32, 32, 32> w;
};
constexpr auto adam = optim::adam({.learning_rate = 0.1});
constexpr auto eighth = optim::multi_steps(adam, 8);
template <const auto& Optimizer>
constexpr auto step = [](const model& g, const auto& state, const model& m) { return Optimizer.update(g, state, m); };
}  // namespace

TEST_CASE("the inner transform runs in the last of the calls only") {
  using namespace tokamax;
  const model m{ones({32, 32})};
  auto state = eighth.init(m);
  const auto run = jit(step<eighth>, cpu, at_run_time);
  for (int call = 1; call <= 16; ++call) {
    profile::timeline line;
    const profile::observed_scope observed(&line);
    auto [updates, next] = run(m, state, m);
    state = next;
    int roots = 0;
    for (const profile::event& e : line.events()) roots += e.name.find("sqrt") != std::string::npos;
    CAPTURE(call);
    CHECK((roots > 0) == (call % 8 == 0));
    CHECK((updates.w.values<float>()[5] != 0) == (call % 8 == 0));
  }
}
