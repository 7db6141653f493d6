// tests/optim/beyond_optax.cpp: optimisers that Optax has not, step by step as tests/golden/make_optim_plain.py in 64 bits.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/adaptive/cautious.hpp>
#include <tokamax/optim/adaptive/mars.hpp>
#include <tokamax/optim/descent/lion.hpp>
#include <tokamax/optim/matrices/muon.hpp>
#include <tokamax/optim/matrices/shampoo.hpp>
#include <tokamax/optim/matrices/soap.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"
#include "support/optimiser_rows.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;
using tk::test::check_optimiser;
using tk::test::distance;

// 1 - b^t in f32 is off by up to 3e-5 in the first steps.

TEST_CASE("Cautious steps do not go against the gradient") {
  check_optimiser("cautious", optim::cautious_adamw({.learning_rate = 0.05}), 3e-5);
  check_optimiser(
      "cautious_options",
      optim::cautious_adamw({.learning_rate = 0.02, .b1 = 0.8, .b2 = 0.9, .eps = 1e-3, .weight_decay = 0.1}));
  const auto keep = optim::cautious{optim::scale{1.0}};
  const optim::chained<optim::cautious<optim::scale_by_lion>, optim::scale_by_learning_rate<>> lion =
      optim::chain(optim::cautious{optim::scale_by_lion{}}, optim::scale_by_learning_rate{0.1});
  const array g = array::from<float>({1, -2, 0});
  CHECK(distance(keep.update(g, keep.init(g), g).first, array::from<float>({1.5f, -3, 0})) < 1e-6);
  CHECK(distance(lion.update(g, lion.init(g), g).first, array::from<float>({-0.15f, 0.15f, 0})) < 1e-6);
}

TEST_CASE("MARS takes part of the difference of two gradients") {
  check_optimiser("mars", optim::mars({.learning_rate = 0.02}), 3e-5);
  check_optimiser("mars_options", optim::mars({.learning_rate = 0.05,
                                               .gamma = 0.1,
                                               .b1 = 0.8,
                                               .b2 = 0.9,
                                               .eps = 1e-3,
                                               .max_norm = 0.5,
                                               .weight_decay = 0.1}));
}

TEST_CASE("Shampoo divides by roots of sums of products") {
  check_optimiser("shampoo", optim::shampoo({.learning_rate = 0.02, .eps = 1e-3}), 1e-4);
  check_optimiser("shampoo_options",
                  optim::shampoo({.learning_rate = 0.05,
                                  .b2 = 0.9,
                                  .eps = 1e-3,
                                  .update_interval = 3,
                                  .momentum = 0.5,
                                  .nesterov = true,
                                  .weight_decay = 0.05}),
                  1e-4);
  const array g = tk::reshape(tk::arange(24.0), {2, 3, 4}) - 7.0, flat = tk::reshape(g, {6, 4});
  const optim::scale_by_shampoo all, left{.max_dim = 5};
  CHECK(distance(all.update(g, all.init(g), g).first,
                 tk::reshape(all.update(flat, all.init(flat), flat).first, {2, 3, 4})) == 0);
  CHECK(tk::is_absent(left.init(flat).left));
  CHECK(left.init(flat).right.shape() == tk::shape{4, 4});
  CHECK_THROWS_WITH(optim::scale_by_shampoo{.update_interval = 0}.init(g), contains("shampoo: update_interval"));
}

TEST_CASE("SOAP is Adam among eigenvectors") {
  check_optimiser("soap", optim::soap({.learning_rate = 0.05}), 1e-4);
  check_optimiser("soap_options",
                  optim::soap({.learning_rate = 0.02,
                               .b1 = 0.8,
                               .b2 = 0.9,
                               .shampoo_beta = 0.7,
                               .eps = 1e-3,
                               .precondition_frequency = 2,
                               .weight_decay = 0.1}),
                  1e-4);
  const optim::scale_by_soap one_side{.max_dim = 3};
  const array g = tk::ones({4, 3});
  CHECK(tk::is_absent(one_side.init(g).left_basis));
  CHECK(one_side.init(g).right_basis.shape() == tk::shape{3, 3});
  CHECK_THROWS_WITH(optim::scale_by_soap{.precondition_frequency = 0}.init(g),
                    contains("soap: precondition_frequency: found 0, expected 1 or more"));
}
