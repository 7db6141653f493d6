// tokamax/optim/wrappers/apply_if_finite.hpp: an optimiser that leaves out gradients with NaN or infinity.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>  // select, logical_and
#include <tokamax/lax/reduce.hpp>               // all
#include <tokamax/optim/transform.hpp>          // map_floating

namespace tokamax::optim {

template <class Inner>
struct apply_if_finite_state {
  array notfinite_count = zeros({}, i32);  ///< calls with such gradients since the last one without
  array last_finite = ones({}, bool_);
  array total_notfinite = zeros({}, i32);
  Inner inner{};
};

/// Gives finite gradients to `inner`. If one element is NaN or infinite, the updates are zero and the state of `inner` stays;
/// after more than `max_consecutive_errors` such calls in a row, `inner` gets them nevertheless, so that the run does not go
/// on for nothing.
/// errors  "apply_if_finite: max_consecutive_errors" below 0
/// source  optax.apply_if_finite
template <class Inner>
struct apply_if_finite {
  Inner inner;
  int max_consecutive_errors = 0;

  constexpr apply_if_finite(Inner i, int most) : inner(i), max_consecutive_errors(most) {
    if (most < 0)
      reject(nullptr, location(), "apply_if_finite: max_consecutive_errors", message() << most, "0 or more");
  }

  template <class Params>
  constexpr auto init(const Params& params) const {
    auto state = inner.init(params);
    return apply_if_finite_state<decltype(state)>{zeros({}, i32), ones({}, bool_), zeros({}, i32), state};
  }
  template <class Params, class State, class Extra = nothing_extra>
  constexpr std::pair<Params, apply_if_finite_state<State>> update(const Params& g,
                                                                   const apply_if_finite_state<State>& s,
                                                                   const Params& params,
                                                                   const Extra& extra = {}) const {
    array finite = ones({}, bool_);
    for_each_leaf(
        [&](const array& x) {
          if (is_floating(x.dtype())) finite = logical_and(finite, all(isfinite(x)));
        },
        g);
    const array count = select(finite, zeros({}, i32), incremented(s.notfinite_count));
    const array applied = logical_or(finite, count > max_consecutive_errors);
    auto [updates, next] = update_with(inner, g, s.inner, params, extra);
    for_each_leaf(
        [&](auto& after, const array& before) { static_cast<array&>(after) = select(applied, after, before); }, next,
        s.inner);
    auto or_zero = [&](const array& u) { return select(applied, u, zeros(u.shape(), u.dtype())); };
    return {map_floating(or_zero, updates),
            {count, finite, select(finite, s.total_notfinite, incremented(s.total_notfinite)), next}};
  }
};

}  // namespace tokamax::optim
