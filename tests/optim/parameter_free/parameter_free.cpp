// tests/optim/parameter_free/parameter_free.cpp: optimisers that find their rates, step by step as in tests/golden/optimisers.txt.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

#include "support/catch.hpp"
#include "support/optimiser_rows.hpp"

namespace optim = tokamax::optim;
using tokamax::test::check_optimiser;

TEST_CASE("rates that follow from the loss") {
  check_optimiser("polyak_sgd", optim::polyak_sgd({}));
  check_optimiser(
      "polyak_sgd_options",
      optim::polyak_sgd({.max_learning_rate = 0.3, .scaling = 0.5, .f_min = 1.0, .eps = 0.1, .positive = true}));
  check_optimiser("momo", optim::momo({.learning_rate = 0.2}));
  check_optimiser(
      "momo_options",
      optim::momo(
          {.learning_rate = 0.3, .b1 = 0.8, .lower_bound = -1, .weight_decay = 0.05, .adapt_lower_bound = true}));
  check_optimiser("momo_adam", optim::momo_adam({.learning_rate = 0.05}));
  check_optimiser(
      "momo_adam_options",
      optim::momo_adam(
          {.learning_rate = 0.1, .b1 = 0.8, .b2 = 0.9, .eps = 1e-3, .weight_decay = 0.05, .adapt_lower_bound = true}));
}

TEST_CASE("rates that follow from distances") {
  check_optimiser("prodigy", optim::prodigy());
  check_optimiser("prodigy_options", optim::prodigy({.learning_rate = 0.5,
                                                     .b1 = 0.8,
                                                     .b2 = 0.9,
                                                     .b3 = 0.9,
                                                     .eps = 1e-4,
                                                     .estim_lr0 = 1e-2,
                                                     .estim_lr_coef = 2.0,
                                                     .weight_decay = 0.05,
                                                     .safeguard_warmup = true}));
  check_optimiser("dadapt_adamw", optim::dadapt_adamw());
  check_optimiser(
      "dadapt_adamw_options",
      optim::dadapt_adamw(
          {.learning_rate = 0.5, .b1 = 0.8, .b2 = 0.9, .eps = 1e-3, .estim_lr0 = 1e-2, .weight_decay = 0.05}));
  check_optimiser("dog", optim::dog({}));
  check_optimiser("dog_options", optim::dog({.learning_rate = 0.5,
                                             .start = optim::dog_start::distance,
                                             .value = 0.1,
                                             .eps = 1e-3,
                                             .weight_decay = 0.05}));
  check_optimiser("dog_rate", optim::dog({.start = optim::dog_start::learning_rate, .value = 0.01}));
  check_optimiser("dowg", optim::dowg({}));
  check_optimiser("dowg_options",
                  optim::dowg({.learning_rate = 0.5, .first_distance = 0.1, .eps = 1e-2, .weight_decay = 0.05}));
  check_optimiser("distance_over_gradients",
                  optim::chain(optim::scale_by_distance_over_gradients{1e-2}, optim::scale{-1.0}));
  check_optimiser("distance_over_gradients_options",
                  optim::chain(optim::scale_by_distance_over_gradients{1e-1, 1e-3, 0.5}, optim::scale{-1.0}));
}

TEST_CASE("rates that follow from bets") {
  check_optimiser("cocob", optim::cocob({}));
  check_optimiser("cocob_options",
                  optim::cocob({.learning_rate = 0.5, .alpha = 10.0, .eps = 1e-3, .weight_decay = 0.05}));
  check_optimiser("mechanize", optim::mechanize{optim::sgd(1.0)});
  check_optimiser("mechanize_options", optim::mechanize{optim::adam({.learning_rate = 0.1}), 0.1, 1e-4, 1e-2, 4});
}
