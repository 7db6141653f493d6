// tests/support/three_leaves.hpp: an optimiser on a tree of three leaves, as in the rows of tests/golden/optim.txt.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/optim/transform.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace tokamax::test {

struct two_leaves {
  array kernel = zeros({3}), bias = zeros({3});
};
struct three_leaves {
  std::array<two_leaves, 1> blocks{{{zeros({3}), zeros({3})}}};
  array head = zeros({3});
};
struct loss_is {
  array value;
};

// g++ 12 crashes where a template spells `three_leaves{}`.
constexpr three_leaves default_leaves() { return {}; }
template <class Optimizer>
constexpr auto initial_memory() {
  return Optimizer{}().init(default_leaves());
}
template <class Optimizer>
struct leaf_descent {
  three_leaves params;
  decltype(initial_memory<Optimizer>()) memory = initial_memory<Optimizer>();
};

/// All leaves after each of `steps` steps on the sum of w x^2 over the leaves: [steps, 3, 3]. The step is traced while
/// compiling, so `Optimizer` is a function without state that returns the optimiser.
template <class Optimizer>
array leaf_trajectory(Optimizer, std::int64_t steps) {
  using state = leaf_descent<Optimizer>;
  constexpr auto step = [](const state& s, const tensor<f32, 3>& w) {
    const auto loss = [&](const three_leaves& p) {
      return tree_reduce([&](const array& total, const array& x) { return total + sum(x * x * w); }, p, zeros({}));
    };
    auto [value, grads] = value_and_grad(loss)(s.params);
    constexpr auto optimizer = Optimizer{}();
    auto [updates, next] = optimizer.update(grads, s.memory, s.params, loss_is{value});
    return state{optim::apply_updates(s.params, updates), next};
  };
  const auto run = jit(step, cpu_tag{}, while_compiling);
  const array x0 = golden("optim.txt", "x0");
  state s{{{{{x0, x0 * 2}}}, x0 * -1}};
  array rows = array::uninitialized({f32, false, {steps, 3, 3}});
  float* to = rows.mutable_data<float>();
  for (std::int64_t n = 0; n < steps; ++n) {
    s = run(s, tensor<f32, 3>(golden("optim.txt", "w")));
    for_each_leaf([&](const array& a) { to = std::copy_n(a.data<float>(), 3, to); }, s.params);
  }
  return rows;
}

/// Checks a row of tests/golden/optim.txt.
template <class Optimizer>
void check_leaves(const std::string& name, Optimizer optimizer) {
  CAPTURE(name);
  const array expected = golden("optim.txt", name);
  CHECK(distance(leaf_trajectory(optimizer, expected.extent(0)), expected) < 3e-6);
}

}  // namespace tokamax::test
