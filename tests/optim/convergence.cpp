// tests/optim/convergence.cpp: optimisers find a minimum, with the rates and the tolerance of Optax's own tests.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

#include "support/catch.hpp"
#include "support/optimiser_rows.hpp"

namespace optim = tokamax::optim;
using tokamax::test::distance_of;

TEST_CASE("optimisers find the minimum of a parabola in ten thousand steps") {
  CHECK(distance_of(optim::adabelief({.learning_rate = 1e-2})) < 3e-2);
  CHECK(distance_of(optim::adadelta({.learning_rate = 0.1})) < 3e-2);
  CHECK(distance_of(optim::adafactor({.learning_rate = 5e-3})) < 3e-2);
  CHECK(distance_of(optim::adagrad({.learning_rate = 1.0})) < 3e-2);
  CHECK(distance_of(optim::adan({.learning_rate = 0.1})) < 3e-2);
  CHECK(distance_of(optim::lion({.learning_rate = 1e-2, .weight_decay = 1e-4})) < 3e-2);
  CHECK(distance_of(optim::novograd({.learning_rate = 1e-3})) < 3e-2);
  CHECK(distance_of(optim::optimistic_adam({.learning_rate = 2e-3})) < 3e-2);
  CHECK(distance_of(optim::polyak_sgd({})) < 3e-2);
  CHECK(distance_of(optim::rmsprop({.learning_rate = 5e-3, .momentum = 0.9})) < 3e-2);
  CHECK(distance_of(optim::rprop({.learning_rate = 0.1})) < 3e-2);
  CHECK(distance_of(optim::sm3({.learning_rate = 1.0})) < 3e-2);
  CHECK(distance_of(optim::prodigy()) < 3e-2);
  CHECK(distance_of(optim::schedule_free_sgd({.learning_rate = 0.1})) < 3e-2);
}
