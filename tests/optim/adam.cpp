// tests/optim/adam.cpp: adam and adamw step as Optax's do.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/adam.hpp>
#include <tokamax/optim/clip.hpp>

#include "support/trajectory.hpp"

namespace optim = tokamax::optim;
using tokamax::array;
using tokamax::test::check_trajectory;

namespace {

struct layer {
  array kernel = tokamax::ones({2, 2}), bias = tokamax::ones({2});
};

}  // namespace

TEST_CASE("adam and adamw follow Optax") {
  check_trajectory("adam", [] { return optim::adam({.learning_rate = 0.1}); });
  check_trajectory("adamw", [] { return optim::adamw({.learning_rate = 0.1, .weight_decay = 0.1}); });
  check_trajectory("adamw_b2_0.95_eps_1e-6",
                   [] { return optim::adamw({.learning_rate = 0.1, .b2 = 0.95, .eps = 1e-6, .weight_decay = 0.01}); });
  check_trajectory("clip_1_adam",
                   [] { return optim::chain(optim::clip_by_global_norm(1), optim::adam({.learning_rate = 0.1})); });
}

TEST_CASE("a schedule sets the rate of each step") {
  check_trajectory("adamw_warmup_cosine", [] {
    return optim::adamw({.learning_rate = optim::warmup_cosine({.peak = 0.1, .warmup = 2, .total = 6, .end = 0.01}),
                         .weight_decay = 0.1});
  });
}

TEST_CASE("weight decay can leave vectors alone") {
  constexpr auto decay = optim::adamw({.learning_rate = 1.0, .weight_decay = 0.5, .only = optim::matrices});
  const layer params, zero{tokamax::zeros({2, 2}), tokamax::zeros({2})};
  const auto [updates, state] = decay.update(zero, decay.init(params), params);
  CHECK(tokamax::test::distance(updates.kernel, tokamax::full({2, 2}, -0.5)) < 1e-6);
  CHECK(tokamax::test::distance(updates.bias, tokamax::zeros({2})) == 0);
}
