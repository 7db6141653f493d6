// tests/optim/descent/sgd.cpp: gradient descent, plain, with momentum and clipped, as Optax does it.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/descent/sgd.hpp>
#include <tokamax/optim/transforms/clip.hpp>

#include "support/trajectory.hpp"

namespace optim = tokamax::optim;
using tokamax::test::check_trajectory;

TEST_CASE("sgd follows Optax") {
  check_trajectory("sgd", [] { return optim::sgd(0.1); });
  check_trajectory("sgd_momentum", [] { return optim::sgd({.learning_rate = 0.01, .momentum = 0.9}); });
  check_trajectory("sgd_nesterov",
                   [] { return optim::sgd({.learning_rate = 0.01, .momentum = 0.9, .nesterov = true}); });
}
