// tests/optim/multi_steps.cpp: accumulated gradients, as Optax's MultiSteps.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/adam.hpp>
#include <tokamax/optim/multi_steps.hpp>
#include <tokamax/optim/sgd.hpp>

#include "support/trajectory.hpp"

namespace optim = tokamax::optim;
using tokamax::test::check_trajectory;

TEST_CASE("every second call applies the mean of two gradients") {
  check_trajectory("multi_steps_2_sgd", [] { return optim::multi_steps(optim::sgd(0.1), 2); });
  check_trajectory("multi_steps_2_adam", [] { return optim::multi_steps(optim::adam({.learning_rate = 0.1}), 2); });
  check_trajectory("multi_steps_2_sgd_varying", [] { return optim::multi_steps(optim::sgd(0.01), 2); }, true);
}
