// tests/support/trajectory.hpp: an optimiser on f(x) = sum(w x^2), step by step as in tests/golden/optim.txt.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu.hpp>
#include <tokamax/optim/transform.hpp>
#include <tokamax/runtime/jit.hpp>

#include "support/catch.hpp"
#include "support/device.hpp"
#include "support/golden.hpp"

namespace tokamax::test {

/// A record of parameters, so that states have their shapes while compiling.
struct three_numbers {
  array x = zeros({3});
};

template <class Optimizer>
struct descent {
  three_numbers params;
  decltype(std::declval<Optimizer>().init(three_numbers{})) state;
};

/// The values of x after each of `steps` steps from {1, 2, 3}: [steps, 3]. The gradient is 2 w x, times n + 1 in step n if
/// `varying`. `Optimizer` is a stateless function that returns the optimiser, so that the step is traced while compiling.
template <class Optimizer>
array trajectory(Optimizer, std::int64_t steps, bool varying = false) {
  constexpr auto optimizer = Optimizer{}();
  using state = descent<std::remove_const_t<decltype(optimizer)>>;
  constexpr auto step = [](const state& s, const three_numbers& weight) {
    constexpr auto o = Optimizer{}();
    auto [updates, next] = o.update(three_numbers{2.0 * s.params.x * weight.x}, s.state, s.params);
    return state{optim::apply_updates(s.params, updates), next};
  };
  const auto known = jit(step, here);
  const auto traced = jit(step, here, at_run_time);
  const auto run = [&](auto&&... args) { return here.runs_host_kernels() ? known(args...) : traced(args...); };
  state s{{golden("optim.txt", "x0")}, optimizer.init(three_numbers{})};
  array rows = array::uninitialized({f32, false, {steps, 3}});
  for (std::int64_t n = 0; n < steps; ++n) {
    s = run(s, three_numbers{golden("optim.txt", "w") * (varying ? static_cast<float>(n + 1) : 1.0f)});
    std::copy_n(s.params.x.template data<float>(), 3, rows.mutable_data<float>() + 3 * n);
  }
  return rows;
}

/// Checks a row of tests/golden/optim.txt.
template <class Optimizer>
void check_trajectory(const std::string& name, Optimizer optimizer, bool varying = false) {
  CAPTURE(name);
  const array expected = golden("optim.txt", name);
  CHECK(distance(trajectory(optimizer, expected.extent(0), varying), expected) < 2e-6);
}

}  // namespace tokamax::test
