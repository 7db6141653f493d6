// tests/optim/adaptive/averages.cpp: optimisers that divide by averages, step by step as in tests/golden/optimisers.txt.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim.hpp>

#include <tokamax/tokamax.hpp>

#include <limits>

#include "support/catch.hpp"
#include "support/optimiser_rows.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;
using tk::test::check_optimiser;

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST_CASE("RMSProp with all of its options") {
  check_optimiser(
      "rmsprop_plain",
      optim::rmsprop({.learning_rate = 0.02, .decay = 0.8, .eps = 1e-3, .initial = 0.5, .eps_in_sqrt = false}));
  check_optimiser(
      "rmsprop_centered",
      optim::rmsprop(
          {.learning_rate = 0.02, .decay = 0.8, .eps = 1e-3, .centered = true, .momentum = 0.5, .nesterov = true}));
  check_optimiser(
      "rmsprop_corrected",
      optim::rmsprop({.learning_rate = 0.02, .eps_in_sqrt = false, .momentum = 0.8, .bias_correction = true}));
  check_optimiser("rmsprop_all",
                  optim::rmsprop({.learning_rate = 0.02, .eps = 1e-2, .centered = true, .bias_correction = true}),
                  1e-5);  // the variance n - m^2 loses digits
}

TEST_CASE("Adadelta, Adan, AdEMAMix, ADOPT, ACProp and MADGRAD") {
  check_optimiser("adadelta", optim::adadelta({.learning_rate = 1.0}));
  check_optimiser("adadelta_options",
                  optim::adadelta({.learning_rate = 0.5, .rho = 0.8, .eps = 1e-3, .weight_decay = 0.1}));
  check_optimiser("adan", optim::adan({.learning_rate = 0.02}));
  check_optimiser("adan_options", optim::adan({.learning_rate = 0.02,
                                               .b1 = 0.9,
                                               .b2 = 0.8,
                                               .b3 = 0.95,
                                               .eps = 1e-4,
                                               .eps_root = 1e-3,
                                               .weight_decay = 0.1}));
  check_optimiser("ademamix", optim::ademamix({.learning_rate = 0.01}));
  check_optimiser("ademamix_options", optim::ademamix({.learning_rate = 0.01,
                                                       .b1 = 0.8,
                                                       .b2 = 0.9,
                                                       .b3 = optim::linear(0.9, 0.99, 20),
                                                       .alpha = optim::linear(0.0, 3.0, 20),
                                                       .eps = 1e-3,
                                                       .eps_root = 1e-4,
                                                       .weight_decay = 0.1}));
  check_optimiser("simplified_ademamix", optim::simplified_ademamix({.learning_rate = 0.001}));
  check_optimiser("simplified_ademamix_options",
                  optim::simplified_ademamix(
                      {.learning_rate = 0.002, .b1 = 0.9, .b2 = 0.9, .alpha = 2.0, .eps = 1e-3, .weight_decay = 0.1}));
  check_optimiser("adopt", optim::adopt({.learning_rate = 0.05}));
  check_optimiser(
      "adopt_options",
      optim::adopt(
          {.learning_rate = 0.02, .b1 = 0.8, .b2 = 0.99, .eps = 1e-2, .nesterov = true, .use_clipping = false}));
  check_optimiser("acprop", optim::acprop({.learning_rate = 0.02}));
  check_optimiser(
      "acprop_options",
      optim::acprop({.learning_rate = 0.02, .b1 = 0.8, .b2 = 0.9, .eps = 1e-3, .eps_root = 1e-4, .weight_decay = 0.1}));
  check_optimiser("madgrad", optim::madgrad({.learning_rate = 0.05}));
  check_optimiser("madgrad_options",
                  optim::madgrad({.learning_rate = 0.02, .momentum = 0.5, .weight_decay = 0.1, .eps = 1e-3}));
}

TEST_CASE("Adafactor keeps rows and columns of squares") {
  check_optimiser("adafactor", optim::adafactor({.learning_rate = 0.05}));
  check_optimiser(
      "adafactor_factored",
      optim::adafactor({.learning_rate = 0.05, .min_dim_size_to_factor = 3, .momentum = 0.8, .weight_decay = 0.01}));
  check_optimiser("adafactor_options", optim::adafactor({.learning_rate = 0.02,
                                                         .decay_rate = 0.7,
                                                         .decay_offset = -2,
                                                         .multiply_by_parameter_scale = false,
                                                         .clipping_threshold = infinity,
                                                         .eps = 1e-6,
                                                         .factored = false}));
  check_optimiser("adafactor_schedule", optim::adafactor({.learning_rate = optim::linear(0.1, 0.01, 30),
                                                          .min_dim_size_to_factor = 2,
                                                          .clipping_threshold = 0.5}));

  constexpr auto shapes = [](const tk::shape& s, std::int64_t least) {
    const auto state = optim::scale_by_factored_rms{.min_dim_size_to_factor = least}.init(tk::ones(s));
    return std::array{state.rows.shape(), state.columns.shape(), state.whole.shape()};
  };
  CHECK(shapes({5, 3}, 3) == std::array{tk::shape{3}, tk::shape{5}, tk::shape{0}});
  CHECK(shapes({3, 5}, 3) == std::array{tk::shape{3}, tk::shape{5}, tk::shape{0}});
  CHECK(shapes({4, 2, 6}, 4) == std::array{tk::shape{4, 2}, tk::shape{2, 6}, tk::shape{0}});
  CHECK(shapes({5, 3}, 4) == std::array{tk::shape{0}, tk::shape{0}, tk::shape{5, 3}});
  CHECK(shapes({}, 0) == std::array{tk::shape{0}, tk::shape{0}, tk::shape{}});
}

TEST_CASE("averages can be kept in other dtypes") {
  check_optimiser("mu_dtype", optim::adamw({.learning_rate = 0.05, .mu_dtype = tk::bf16}),
                  1e-2);  // Optax rounds b1 mu too
  check_optimiser(
      "lion_mu_dtype",
      optim::chain(optim::scale_by_lion{.mu_dtype = tk::bf16, .mode = optim::lion_mode::smooth}, optim::scale{-0.05}),
      1e-2);
  const array x = tk::ones({3});
  const optim::scale_by_adam adam{.mu_dtype = tk::bf16};
  CHECK(adam.init(x).mu.dtype() == tk::bf16);
  CHECK(adam.update(x, adam.init(x), x).second.mu.dtype() == tk::bf16);
  CHECK(adam.update(x, adam.init(x), x).second.nu.dtype() == tk::f32);
}
