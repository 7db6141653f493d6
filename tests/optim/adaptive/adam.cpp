// tests/optim/adaptive/adam.cpp: adam and adamw step as Optax's do.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/adaptive/adam.hpp>
#include <tokamax/optim/transforms/clip.hpp>

#include <tokamax/tokamax.hpp>

#include <bit>

#include "support/trajectory.hpp"

namespace optim = tokamax::optim;
using tokamax::array;
using tokamax::test::check_trajectory;

namespace {

struct layer {
  array kernel = tokamax::ones({2, 2}), bias = tokamax::ones({2});
};
struct model {
  array matrix, vector, number;
};
/// Numbers from -3 to 3 in no order.
array small_numbers(std::int64_t n, int k) {
  return tokamax::astype(tokamax::rem(tokamax::arange(n) * (k + 3), array(7)), tokamax::f32) - 3.0f;
}
/// A hash of the bits of the parameters after 50 steps.
template <class Optimizer>
std::uint64_t bits_after_50_steps(const Optimizer& optimizer) {
  const auto matrix = [](int k) { return tokamax::reshape(small_numbers(561, k), {33, 17}); };
  model m{matrix(8) * 0.5f, small_numbers(17, 1), tokamax::full({}, 0.5)};
  auto state = optimizer.init(m);
  for (int k = 0; k < 50; ++k) {
    const model g{m.matrix * 0.25f + matrix(k), m.vector * 0.25f + small_numbers(17, k), m.number * 0.25f};
    const auto [updates, next] = optimizer.update(g, state, m);
    m = optim::apply_updates(m, updates);
    state = next;
  }
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a, of words
  tokamax::for_each_leaf(
      [&](array& a) {
        a.materialize();
        for (const float x : a.values<float>()) hash = (hash ^ std::bit_cast<std::uint32_t>(x)) * 1099511628211u;
      },
      m);
  return hash;
}

}  // namespace

TEST_CASE("adam and adamw follow Optax") {
  check_trajectory("adam", [] { return optim::adam({.learning_rate = 0.1}); });
  check_trajectory("adamw", [] { return optim::adamw({.learning_rate = 0.1, .weight_decay = 0.1}); });
  check_trajectory("adamw_b2_0.95_eps_1e-6",
                   [] { return optim::adamw({.learning_rate = 0.1, .b2 = 0.95, .eps = 1e-6, .weight_decay = 0.01}); });
  check_trajectory("clip_1_adam",
                   [] { return optim::chain(optim::clip_by_global_norm(1), optim::adam({.learning_rate = 0.1})); });
}

TEST_CASE("the bits of f32 trajectories stay") {
  CHECK(bits_after_50_steps(optim::adam({.learning_rate = 0.1})) == 0x32e87a73eb034ebd);
  CHECK(bits_after_50_steps(optim::adam({.learning_rate = 0.01, .b1 = 0.8, .b2 = 0.95, .eps = 1e-6})) ==
        0x1ad71d5ca134cf40);
  CHECK(bits_after_50_steps(optim::adamw({.learning_rate = 0.1, .weight_decay = 0.1})) == 0x24e2a7d7a2efc24b);
  CHECK(bits_after_50_steps(optim::adamw({.learning_rate = 0.1, .weight_decay = 0.1, .only = optim::matrices})) ==
        0x55f88a7a3a2f49bf);
  CHECK(bits_after_50_steps(optim::adamw({.learning_rate = optim::linear(0.1, 0.01, 40), .weight_decay = 0.1})) ==
        0xa43b2d4fd42ec2f6);
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

TEST_CASE("adam keeps averages of 16-bit leaves in f32, so that small gradients divide by no 0") {
  const auto steps = [](const auto& optimizer, tokamax::dtype type, float gradient) {
    array x = tokamax::ones({3}, type);
    auto state = optimizer.init(x);
    for (int n = 0; n < 3; ++n) {
      const auto [u, next] = optimizer.update(tokamax::full({3}, gradient, type), state, x);
      CHECK(u.dtype() == type);
      x = optim::apply_updates(x, u);
      state = next;
    }
    return tokamax::astype(x, tokamax::f32);
  };
  constexpr auto adam = optim::adam({.learning_rate = 0.125});
  constexpr auto adamw = optim::adamw({.learning_rate = 0.125, .weight_decay = 0});
  for (const tokamax::dtype type : {tokamax::f16, tokamax::bf16}) {
    CHECK(tokamax::test::distance(steps(adam, type, 0), tokamax::ones({3})) == 0);
    CHECK(tokamax::test::distance(steps(adamw, type, 0), tokamax::ones({3})) == 0);
    for (const float g : {1e-6f, 1e-4f, 1.0f, 300.0f})  // its square is 0 or infinite in f16; each step is by the rate
      CHECK(tokamax::test::distance(steps(adam, type, g), tokamax::full({3}, 0.625f)) < 0.01);
  }
}

TEST_CASE("a program that is known while compiling takes the state of 16-bit leaves") {
  struct half {
    array x = tokamax::ones({2}, tokamax::f16);
  };
  struct both {
    half params;
    optim::adam_state<half> state;
  };
  static constexpr auto step = [](const both& s, const half& g) {
    const auto [u, next] = optim::scale_by_adam{}.update(g, s.state, s.params);
    return both{optim::apply_updates(s.params, u), next};
  };
  const both start{half{}, optim::scale_by_adam{}.init(half{})};
  const half g{tokamax::full({2}, 1e-5f, tokamax::f16)};
  using tokamax::test::here;
  const auto known = tokamax::jit(step, here);
  const auto traced = tokamax::jit(step, here, tokamax::at_run_time);
  const both found = here.runs_host_kernels() ? known(start, g) : traced(start, g), same = traced(start, g);
  CHECK(tokamax::test::distance(tokamax::astype(found.params.x, tokamax::f32), tokamax::full({2}, 2.0f)) < 2e-3);
  CHECK(tokamax::test::distance(found.state.nu.x, same.state.nu.x) == 0);
  CHECK(found.state.nu.x.dtype() == tokamax::f32);
}
