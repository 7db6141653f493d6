// tests/optim/rmsprop.cpp: rmsprop and adagrad step as Optax's do.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/rmsprop.hpp>

#include "support/trajectory.hpp"

TEST_CASE("rmsprop and adagrad follow Optax") {
  tokamax::test::check_trajectory("rmsprop", [] { return tokamax::optim::rmsprop({.learning_rate = 0.1}); });
  tokamax::test::check_trajectory("adagrad", [] { return tokamax::optim::adagrad({.learning_rate = 0.1}); });
}
