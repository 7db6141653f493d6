// tokamax/optim/transforms/accumulate.hpp: averages and sums of updates, and updates at some steps only.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/wrappers/wrappers.cpp
#pragma once

#include <tokamax/optim/transforms/moments.hpp>      // moved
#include <tokamax/transforms/control_flow/cond.hpp>  // cond

namespace tokamax::optim {

template <class Params>
struct ema_state {
  array count = zeros({}, i32);  ///< updates so far
  Params average{};
};

/// The average a = decay a + (1 - decay) u, and with `debias` a / (1 - decay^t). A decay of 0 keeps no state.
/// dtypes  averages of 16 bits are f32, unless accumulator_dtype says otherwise
/// source  optax.ema
struct ema {
  array decay;
  bool debias = true;
  dtype accumulator_dtype = dtype::none;

  template <class Params>
  constexpr ema_state<Params> init(const Params& params) const {
    if (detail::is_zero(decay)) return {zeros({}, i32), nothing_like(params)};
    return {zeros({}, i32), detail::kept(for_averages(zeros_like(params)), accumulator_dtype)};
  }
  template <class Params>
  constexpr std::pair<Params, ema_state<Params>> update(const Params& u, const ema_state<Params>& s,
                                                        const Params&) const {
    const array count = incremented(s.count);
    if (detail::is_zero(decay)) return {u, {count, s.average}};
    const Params average = detail::moved(decay, detail::widened(s.average, accumulator_dtype), u);
    const array share = detail::share(decay, astype(count, f32));
    auto narrow = [&](const array& x, const array& a) {
      if (!debias) return astype(a, x.dtype());
      return astype(detail::corrected(a, share), x.dtype());
    };
    return {map_floating(narrow, u, average), {count, detail::kept(average, accumulator_dtype)}};
  }
};

template <class Params>
struct apply_every_state {
  array count = zeros({}, i32);  ///< calls since the last update
  Params sum{};
};
/// The sum of the updates of k calls in the last one, and zeros in the others.
/// errors  "apply_every: k" below 1
/// source  optax.apply_every
struct apply_every {
  int k = 1;
  constexpr explicit apply_every(int calls) : k(calls) {
    if (k < 1) reject(nullptr, location(), "apply_every: k", message() << k, "1 or more");
  }
  template <class Params>
  constexpr apply_every_state<Params> init(const Params& params) const {
    return {zeros({}, i32), zeros_like(params)};
  }
  template <class Params>
  constexpr std::pair<Params, apply_every_state<Params>> update(const Params& u, const apply_every_state<Params>& s,
                                                                const Params&) const {
    const array first = s.count == 0, last = s.count == k - 1;
    auto add = [&](const array& a, const array& x) { return select(first, x, a + x); };
    const Params sum = map_floating(add, s.sum, u);
    auto given = [&](const array& x, const array& a) { return select(last, a, zeros_like(x)); };
    return {map_floating(given, u, sum), {select(last, zeros({}, i32), s.count + 1), sum}};
  }
};

template <class Inner>
struct conditional_state {
  array step = zeros({}, i32);  ///< calls so far
  Inner inner{};
};

/// Applies `inner` in the calls for which should(step), or should(step, extra), holds. In others its state stays, and the
/// updates pass unchanged (conditionally_transform), or are zeros (conditionally_mask).
template <class Inner, class Should>
struct conditional {
  Inner inner;
  Should should;
  bool zeros_otherwise = false;

  template <class Params>
  constexpr auto init(const Params& params) const {
    auto state = inner.init(params);
    return conditional_state<decltype(state)>{zeros({}, i32), std::move(state)};
  }
  template <class Params, class State, class Extra = nothing_extra>
  constexpr std::pair<Params, conditional_state<State>> update(const Params& u, const conditional_state<State>& s,
                                                               const Params& params, const Extra& extra = {}) const {
    const auto apply = [&](const Params& given, const State& before, const Params& p) {
      auto [changed, next] = update_with(inner, given, before, p, extra);
      return std::pair<Params, State>{with_parameters(given, changed), std::move(next)};
    };
    const auto wait = [&](const Params& given, const State& before, const Params&) -> std::pair<Params, State> {
      if (zeros_otherwise) return {map_floating([](const array& x) { return zeros_like(x); }, given), before};
      return {given, before};
    };
    auto [updates, next] = cond(asked(s.step, extra), apply, wait, u, s.inner, params);
    return {std::move(updates), {incremented(s.step), std::move(next)}};
  }

 private:
  template <class Extra>
  constexpr array asked(const array& step, const Extra& extra) const {
    if constexpr (requires { should(step, extra); })
      return should(step, extra);
    else
      return should(step);
  }
};
/// source  optax.conditionally_transform
template <class Inner, class Should>
constexpr conditional<Inner, Should> conditionally_transform(Inner inner, Should should) {
  return {std::move(inner), std::move(should)};
}
/// source  optax.conditionally_mask
template <class Inner, class Should>
constexpr conditional<Inner, Should> conditionally_mask(Inner inner, Should should) {
  return {std::move(inner), std::move(should), true};
}

}  // namespace tokamax::optim
