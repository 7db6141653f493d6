// tokamax/optim/multi_steps.hpp: gradients averaged over several calls before an update.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>       // select
#include <tokamax/optim/transform.hpp>               // map_floating
#include <tokamax/transforms/control_flow/cond.hpp>  // cond

#include <tuple>  // tuple

namespace tokamax::optim {

template <class Params, class Inner>
struct multi_steps_state {
  array mini_step = zeros({}, i32);      ///< calls since the last update
  array gradient_step = zeros({}, i32);  ///< updates so far
  Params average{};                      ///< of the gradients since the last update
  Inner inner{};
};

/// Collects the gradients of `every` calls and gives their mean to `inner`. In between, updates are zero and `inner` does
/// not run.
/// errors  "multi_steps: every" below 1
/// source  optax.MultiSteps
template <class Inner>
struct multi_steps {
  Inner inner;
  int every = 1;

  constexpr multi_steps(Inner i, int n) : inner(i), every(n) {
    if (n < 1) reject(nullptr, location(), "multi_steps: every", message() << n, "1 or more");
  }

  template <class Params>
  constexpr auto init(const Params& params) const {
    auto state = inner.init(params);
    return multi_steps_state<Params, decltype(state)>{zeros({}, i32), zeros({}, i32), zeros_like(params), state};
  }
  template <class Params, class State, class Extra = nothing_extra>
  constexpr std::pair<Params, multi_steps_state<Params, State>> update(const Params& g,
                                                                       const multi_steps_state<Params, State>& s,
                                                                       const Params& params,
                                                                       const Extra& extra = {}) const {
    const array seen = astype(s.mini_step, f32) + 1.0, now = s.mini_step == every - 1;
    auto fold = [&](const array& a, const array& x) { return a + (x - a) / astype(seen, a.dtype()); };
    const Params average = map_floating(fold, s.average, g);
    const auto zero = [](const array& a) { return zeros(a.shape(), a.dtype()); };
    const auto apply = [&](const Params& mean, const State& before, const Params& p, const Extra& facts) {
      auto [updates, after] = update_with(inner, mean, before, p, facts);
      return std::tuple{updates, map_floating(zero, mean), after};
    };
    const auto wait = [&](const Params& mean, const State& before, const Params&, const Extra&) {
      return std::tuple{map_floating(zero, mean), mean, before};
    };
    const auto [updates, kept, next] = cond(now, apply, wait, average, s.inner, params, extra);
    return {updates, {select(now, zeros({}, i32), s.mini_step + 1), s.gradient_step + astype(now, i32), kept, next}};
  }
};

}  // namespace tokamax::optim
