// tests/optim/descent/first_order.cpp: optimisers by signs, norms and bounds, step by step as in tests/golden/optimisers.txt.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

#include "support/catch.hpp"
#include "support/optimiser_rows.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::test::check_optimiser;

TEST_CASE("Rprop, SM3, NovoGrad and Fromage") {
  check_optimiser("rprop", optim::rprop({.learning_rate = 0.02}));
  check_optimiser(
      "rprop_options",
      optim::rprop(
          {.learning_rate = 0.05, .eta_minus = 0.7, .eta_plus = 1.1, .min_step_size = 1e-3, .max_step_size = 0.2}));
  check_optimiser("sm3", optim::sm3({.learning_rate = 0.1}));
  check_optimiser("sm3_options", optim::sm3({.learning_rate = 0.3, .momentum = 0.5}));
  check_optimiser("scale_by_sm3",
                  optim::chain(optim::scale_by_sm3{.b1 = 0.8, .b2 = 0.9, .eps = 1e-3}, optim::scale{-0.05}));
  check_optimiser("novograd", optim::novograd({.learning_rate = 0.05}), 1e-5);  // a number steps by its sign
  check_optimiser(
      "novograd_options",
      optim::novograd(
          {.learning_rate = 0.02, .b1 = 0.8, .b2 = 0.5, .eps = 1e-3, .eps_root = 1e-2, .weight_decay = 0.1}));
  check_optimiser("fromage", optim::fromage({.learning_rate = 0.02}));
  check_optimiser("fromage_schedule", optim::fromage({.learning_rate = optim::linear(0.1, 0.01, 30), .min_norm = 1}));
}

TEST_CASE("steps that look ahead") {
  check_optimiser("optimistic_gradient_descent", optim::optimistic_gradient_descent({.learning_rate = 0.05}));
  check_optimiser("optimistic_gradient_descent_options",
                  optim::optimistic_gradient_descent({.learning_rate = 0.05, .alpha = 0.7, .beta = 0.3}));
  check_optimiser("optimistic_adam", optim::optimistic_adam({.learning_rate = 0.02}));
  check_optimiser(
      "optimistic_adam_options",
      optim::optimistic_adam(
          {.learning_rate = 0.02, .alpha = 0.8, .beta = 0.5, .b1 = 0.8, .b2 = 0.9, .eps = 1e-3, .nesterov = false}));
}

TEST_CASE("signs of averages") {
  check_optimiser("signum", optim::signum({.learning_rate = 0.02}));
  check_optimiser("signum_options", optim::signum({.learning_rate = 0.01, .beta = 0.6}));
  check_optimiser("lion", optim::lion({.learning_rate = 0.02}));
  check_optimiser(
      "lion_smooth",
      optim::chain(optim::scale_by_lion{.b1 = 0.8, .b2 = 0.9, .mode = optim::lion_mode::smooth, .smooth_beta = 0.7},
                   optim::scale{-0.05}));
  check_optimiser(
      "lion_refined",
      optim::chain(optim::scale_by_lion{.b1 = 0.8, .b2 = 0.9, .mode = optim::lion_mode::refined}, optim::scale{-0.05}));
}
