// tests/optim/descent/lion.cpp: lion steps as Optax's does.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/descent/lion.hpp>

#include "support/trajectory.hpp"

TEST_CASE("lion follows Optax") {
  tokamax::test::check_trajectory("lion", [] { return tokamax::optim::lion({.learning_rate = 0.1}); });
}
