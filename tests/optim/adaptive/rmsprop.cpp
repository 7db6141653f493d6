// tests/optim/adaptive/rmsprop.cpp: rmsprop and adagrad step as Optax's do.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/adaptive/rmsprop.hpp>

#include "support/trajectory.hpp"

TEST_CASE("rmsprop and adagrad follow Optax") {
  tokamax::test::check_trajectory("rmsprop", [] { return tokamax::optim::rmsprop({.learning_rate = 0.1}); });
  tokamax::test::check_trajectory("adagrad", [] { return tokamax::optim::adagrad({.learning_rate = 0.1}); });
}

TEST_CASE("squares of 16-bit leaves are kept in f32") {
  using tokamax::f16;
  const tokamax::array x = tokamax::ones({2}, f16);
  const auto first_step = [&](const auto& t, float gradient) {
    const auto [u, state] = t.update(tokamax::full({2}, gradient, f16), t.init(x), x);
    CHECK(u.dtype() == f16);
    CHECK(state.squares.dtype() == tokamax::f32);
    const tokamax::array wide = tokamax::astype(u, tokamax::f32);
    return wide.values<float>()[0];
  };
  constexpr tokamax::optim::scale_by_rms rms{.eps = 1e-14};
  CHECK(first_step(rms, 0) == 0);
  CHECK(first_step(rms, 1e-4f) == Approx(3.1623f).epsilon(2e-3));
  constexpr tokamax::optim::scale_by_rss rss{.initial = 0, .eps = 1e-14};
  CHECK(first_step(rss, 0) == 0);
  CHECK(first_step(rss, 1e-4f) == Approx(1.0f).epsilon(2e-3));
  CHECK(first_step(rss, 1000.0f) == Approx(1.0f).epsilon(2e-3));
}
