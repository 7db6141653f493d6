// tokamax/optim/wrappers/multi_steps.hpp: gradients averaged over several calls before an update.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>       // select
#include <tokamax/lax/reduce.hpp>                    // all
#include <tokamax/optim/transform.hpp>               // map_floating
#include <tokamax/transforms/control_flow/cond.hpp>  // cond

#include <tuple>  // tuple

namespace tokamax::optim {

template <class Params, class Inner>
struct multi_steps_state {
  array mini_step = zeros({}, i32);      ///< calls since the last update
  array gradient_step = zeros({}, i32);  ///< updates so far
  Params average{};                      ///< of the gradients since the last update, or their sum
  Inner inner{};
};

/// Functions of a gradient that say whether a call is left out: none is; where an element is NaN or infinite; where the sum of
/// squares is not below a number.
/// source  optax.skip_not_finite, skip_large_updates
struct skip_none {
  template <class Params>
  constexpr array operator()(const Params&) const {
    return zeros({}, bool_);
  }
};
struct skip_not_finite {
  template <class Params>
  constexpr array operator()(const Params& g) const {
    array finite = ones({}, bool_);
    for_each_leaf(
        [&](const array& x) {
          if (is_floating(x.dtype())) finite = logical_and(finite, all(isfinite(x)));
        },
        g);
    return logical_not(finite);
  }
};
struct skip_large_updates {
  double max_squared_norm;
  template <class Params>
  constexpr array operator()(const Params& g) const {
    array squares = zeros({});
    for_each_leaf(
        [&](const array& x) {
          if (!is_floating(x.dtype())) return;
          const array wide = astype(x, carrying(x.dtype()));
          squares = squares + sum(wide * wide);
        },
        g);
    return logical_not(squares < max_squared_norm);
  }
};

/// Collects the gradients of `every` calls and gives their mean to `inner`. In between, updates are zero and `inner` does
/// not run. `every` is a number, or a function of the number of updates so far; without `use_mean` the sum takes the place of
/// the mean. A gradient for which `skip` holds is left out, and its call does not count.
/// dtypes  means of leaves of 16 bits are f32
/// errors  "multi_steps: every" below 1
/// source  optax.MultiSteps
template <class Inner, class Every = int, class Skip = skip_none>
struct multi_steps {
  Inner inner;
  Every every;
  Skip skip;
  bool use_mean = true;

  constexpr multi_steps(Inner i, Every n, Skip s = {}, bool mean = true)
      : inner(std::move(i)), every(std::move(n)), skip(std::move(s)), use_mean(mean) {
    if constexpr (std::is_integral_v<Every>)
      if (n < 1) reject(nullptr, location(), "multi_steps: every", message() << n, "1 or more");
  }

  template <class Params>
  constexpr auto init(const Params& params) const {
    auto state = inner.init(params);
    return multi_steps_state<Params, decltype(state)>{zeros({}, i32), zeros({}, i32), for_averages(zeros_like(params)),
                                                      state};
  }
  template <class Params, class State, class Extra = nothing_extra>
  constexpr std::pair<Params, multi_steps_state<Params, State>> update(const Params& g,
                                                                       const multi_steps_state<Params, State>& s,
                                                                       const Params& params,
                                                                       const Extra& extra = {}) const {
    constexpr bool skips = !std::is_same_v<Skip, skip_none>;
    const array seen = astype(s.mini_step, f32) + 1.0;
    array now = s.mini_step == calls(s.gradient_step) - 1, left_out;
    if constexpr (skips) {
      left_out = skip(g);
      now = logical_and(now, logical_not(left_out));
    }
    auto fold = [&](const array& a, const array& x) {
      const array wide = astype(x, a.dtype());
      array next = a + wide;
      if (use_mean) next = a + (wide - a) / astype(seen, a.dtype());
      if constexpr (skips) next = select(left_out, a, next);
      return next;
    };
    const Params average = map_floating(fold, s.average, g);
    const auto zero = [](const array& a) { return zeros(a.shape(), a.dtype()); };
    const auto narrow = [](const array& a, const array& x) { return astype(a, x.dtype()); };
    const auto none = [](const array& a, const array& x) { return zeros(a.shape(), x.dtype()); };
    const auto apply = [&](const Params& mean, const State& before, const Params& p, const Params& like,
                           const Extra& facts) {
      auto [updates, after] = update_with(inner, map_floating(narrow, mean, like), before, p, facts);
      return std::tuple{updates, map_floating(zero, mean), after};
    };
    const auto wait = [&](const Params& mean, const State& before, const Params&, const Params& like, const Extra&) {
      return std::tuple{map_floating(none, mean, like), mean, before};
    };
    const auto [updates, kept, next] = cond(now, apply, wait, average, s.inner, params, g, extra);
    array mini = select(now, zeros({}, i32), s.mini_step + 1);
    if constexpr (skips) mini = select(left_out, s.mini_step, mini);
    return {updates, {mini, s.gradient_step + astype(now, i32), kept, next}};
  }

 private:
  constexpr array calls(const array& gradient_step) const {
    if constexpr (std::is_integral_v<Every>)
      return array(every);
    else
      return astype(every(gradient_step), i32);
  }
};

/// Has the last call applied an update?
/// source  optax.MultiSteps.has_updated
template <class Params, class Inner>
constexpr array has_updated(const multi_steps_state<Params, Inner>& s) {
  return logical_and(s.mini_step == 0, s.gradient_step > 0);
}

}  // namespace tokamax::optim
