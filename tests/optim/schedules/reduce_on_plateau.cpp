// tests/optim/schedules/reduce_on_plateau.cpp: a transform that is told the loss, against Optax.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/descent/sgd.hpp>
#include <tokamax/optim/schedules/reduce_on_plateau.hpp>
#include <tokamax/optim/wrappers/multi_steps.hpp>

#include "support/three_leaves.hpp"

namespace optim = tokamax::optim;
using tokamax::array;
using tokamax::test::check_leaves;
using tokamax::test::loss_is;

TEST_CASE("the loss reaches the transform of a chain that asks for it, and scales as in Optax") {
  check_leaves("reduce_on_plateau", [] {
    return optim::chain(optim::sgd(0.4), optim::reduce_on_plateau{.factor = 0.5, .patience = 2, .cooldown = 1});
  });
  check_leaves("reduce_on_plateau_mean", [] {
    return optim::chain(optim::sgd(0.4), optim::reduce_on_plateau{.factor = 0.3,
                                                                  .patience = 1,
                                                                  .rtol = 0,
                                                                  .atol = 1e6,
                                                                  .cooldown = 2,
                                                                  .accumulation_size = 2,
                                                                  .min_scale = 0.1});
  });
}

TEST_CASE("and of a chain in a chain, behind averaged gradients") {
  const auto optimizer = optim::multi_steps(optim::chain(optim::chain(optim::reduce_on_plateau{.patience = 1})), 1);
  const array g = array::from<float>({1, 2}), p = g;
  auto [first, s] = optimizer.update(g, optimizer.init(p), p, loss_is{3.0f});
  CHECK(first.values<float>()[1] == 2.0f);
  auto [second, t] = optimizer.update(g, s, p, loss_is{3.0f});
  CHECK(second.values<float>()[1] == 0.2f);
}
