// tokamax/optim/wrappers/lookahead.hpp: fast parameters that go ahead, and slow ones that follow.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/wrappers/wrappers.cpp
#pragma once

#include <tokamax/optim/transforms/moments.hpp>  // rest
#include <tokamax/optim/transforms/scale.hpp>    // times

namespace tokamax::optim {

/// Two sets of parameters, and their updates. Gradients are taken at `fast`; `slow` is for evaluation.
template <class Params>
struct lookahead_params {
  Params fast{}, slow{};
};
/// Both sets begin equal.
template <class Params>
constexpr lookahead_params<Params> init_synced(const Params& params) {
  return {params, params};
}

template <class Inner>
struct lookahead_state {
  array steps_since_sync = zeros({}, i32);
  Inner inner{};
};

/// `inner` updates `fast`. In every `sync_period`th call, `slow` moves by `slow_step_size` of the way to `fast`, and `fast`
/// moves there. With `reset_state` the state of `inner` then begins anew.
///
///   auto [updates, next] = optimizer.update(gradient_at_fast, state, both);
///   both = apply_updates(both, updates);
///
/// errors  "lookahead: sync_period" below 1
/// source  optax.lookahead; Zhang et al. 2019, arXiv:1907.08610
template <class Inner>
struct lookahead {
  Inner inner;
  int sync_period;
  array slow_step_size;
  bool reset_state = false;

  constexpr lookahead(Inner i, int period, const array& step, bool reset = false)
      : inner(std::move(i)), sync_period(period), slow_step_size(step), reset_state(reset) {
    if (period < 1) reject(nullptr, location(), "lookahead: sync_period", message() << period, "1 or more");
  }

  template <class Params>
  constexpr auto init(const lookahead_params<Params>& params) const {
    auto state = inner.init(params.fast);
    return lookahead_state<decltype(state)>{zeros({}, i32), std::move(state)};
  }
  template <class Params, class State, class Extra = nothing_extra>
  constexpr std::pair<lookahead_params<Params>, lookahead_state<State>> update(const Params& g,
                                                                               const lookahead_state<State>& s,
                                                                               const lookahead_params<Params>& params,
                                                                               const Extra& extra = {}) const {
    auto [u, next] = update_with(inner, g, s.inner, params.fast, extra);
    const array sync = s.steps_since_sync == sync_period - 1;
    auto ahead = [](const array& f, const array& x, const array& slow) { return f + x - slow; };
    const Params way = map_floating(ahead, params.fast, u, params.slow);
    auto follow = [&](const array& w) { return select(sync, detail::times(w, slow_step_size), zeros_like(w)); };
    auto move = [&](const array& x, const array& w) {
      return select(sync, x - detail::times(w, detail::rest(slow_step_size)), x);
    };
    if (reset_state) {
      const State fresh = inner.init(params.fast);
      for_each_leaf([&](auto& a, const array& b) { static_cast<array&>(a) = select(sync, b, a); }, next, fresh);
    }
    return {{map_floating(move, u, way), map_floating(follow, way)},
            {select(sync, zeros({}, i32), s.steps_since_sync + 1), std::move(next)}};
  }
};

}  // namespace tokamax::optim
