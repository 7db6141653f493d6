// tokamax/optim/transforms/aggregating.hpp: gradients of examples, aggregated before an optimiser sees them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/numpy/statistics.hpp>              // mean
#include <tokamax/optim/transforms/moments.hpp>      // averaged, share
#include <tokamax/optim/transforms/scale.hpp>        // identity
#include <tokamax/optim/tree.hpp>                    // for_each_floating
#include <tokamax/transforms/control_flow/cond.hpp>  // cond

#include <tuple>  // tuple

/// Transforms that take gradients of examples, [examples, ...] for a parameter [...], as vmap of grad gives them, and return one for
/// all: `process` puts an optimiser behind them.
/// source  optax.experimental.aggregating
namespace tokamax::optim::aggregating {

/// The number of examples in a tree of their gradients.
/// errors  "aggregating: examples" of leaves that have different numbers of them
/// source  get_batch_size_from_per_elt_updates
template <class Updates>
constexpr std::int64_t batch_size(const Updates& updates, const axes& axis = 0,
                                  source_line l = source_line::current()) {
  std::int64_t size = -1;
  optim::detail::for_each_floating(
      [&](const array& x) {
        std::int64_t mine = 1;
        for (const std::int64_t a : axis) mine *= x.extent(static_cast<int>(a));
        if (size >= 0 && size != mine)
          reject(x, l, "aggregating: examples", message() << mine << " of " << x.type(), message() << size);
        size = mine;
      },
      updates);
  return size;
}

/// The mean over the examples.
struct average_per_element_updates {
  axes axis = 0;

  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Params>
  constexpr std::pair<Params, empty_state> update(const Params& updates, empty_state s, const Params&) const {
    return {map_floating([this](const array& u) { return mean(u, {.axis = axis}); }, updates), s};
  }
};

template <class Params>
struct accumulated_state {
  array mini_step = zeros({}, i32), ready = zeros({}, bool_);
  Params average{};
};
/// The mean of the updates of `steps` calls in the last of them, whose state is `ready`, and zeros in the others.
/// errors  "accumulate_avg_updates: steps" below 1
struct accumulate_avg_updates {
  int steps = 1;
  constexpr explicit accumulate_avg_updates(int calls) : steps(calls) {
    if (steps < 1) reject(nullptr, location(), "accumulate_avg_updates: steps", message() << steps, "1 or more");
  }
  template <class Params>
  constexpr accumulated_state<Params> init(const Params& params) const {
    return {zeros({}, i32), zeros({}, bool_), optim::zeros_like(params)};
  }
  template <class Params>
  constexpr std::pair<Params, accumulated_state<Params>> update(const Params& u, const accumulated_state<Params>& s,
                                                                const Params&) const {
    const array now = s.mini_step + 1, ready = now == steps;
    auto fold = [&](const array& a, const array& x) { return a + (x - a) / astype(now, x.dtype()); };
    const Params average = map_floating(fold, s.average, u);
    auto given = [&](const array& a) { return select(ready, a, zeros_like(a)); };
    auto kept = [&](const array& a) { return select(ready, zeros_like(a), a); };
    return {map_floating(given, average), {select(ready, zeros_like(now), now), ready, map_floating(kept, average)}};
  }
};

/// The mean over the examples of `steps` calls.
/// source  average_incrementally_updates
struct average_incrementally {
  axes axis = 0;
  int steps = 1;

  template <class Params>
  constexpr accumulated_state<Params> init(const Params& params) const {
    return accumulate_avg_updates(steps).init(params);
  }
  template <class Params>
  constexpr std::pair<Params, accumulated_state<Params>> update(const Params& u, const accumulated_state<Params>& s,
                                                                const Params& params) const {
    return accumulate_avg_updates(steps).update(average_per_element_updates{axis}.update(u, {}, params).first, s,
                                                params);
  }
};

template <class Params>
struct variance_state {
  array mini_step = zeros({}, i32), ready = zeros({}, bool_);
  Params mean{}, sums{};
  Params sum_sq_diff_grads{};          ///< of the last `steps` calls, for transforms behind
  array sample_size = zeros({}, i32);  ///< and the number of their examples
};
/// The mean over the examples of `steps` calls, and in the state the sums of squares of their differences to it. Counts and means of calls are
/// merged as by Chan, so that no digits are lost.
/// source  get_per_element_mean_and_sum_sq_diff_grads
struct mean_and_sum_sq_diff {
  axes axis = 0;
  int steps = 1;

  template <class Params>
  constexpr variance_state<Params> init(const Params& params) const {
    const Params none = optim::zeros_like(params);
    return {zeros({}, i32), zeros({}, bool_), none, none, none, zeros({}, i32)};
  }
  template <class Params>
  constexpr std::pair<Params, variance_state<Params>> update(const Params& g, const variance_state<Params>& s,
                                                             const Params&) const {
    const std::int64_t size = batch_size(g, axis);
    const array now = s.mini_step + 1, ready = now == steps, t = astype(now, f32);
    const array share = astype(s.mini_step, f32) * static_cast<double>(size) / t;
    auto center = [&](const array& m, const array& x) { return m + (mean(x, {.axis = axis}) - m) / t; };
    auto spread = [&](const array& sum_before, const array& m, const array& x) {
      const array middle = mean(x, {.axis = axis, .keepdims = true}), d = x - middle,
                  moved = mean(x, {.axis = axis}) - m;
      return sum_before + sum(d * d, {.axis = axis}) + moved * moved * share;
    };
    const Params average = map_floating(center, s.mean, g), sums = map_floating(spread, s.sums, s.mean, g);
    auto given = [&](const array& a) { return select(ready, a, zeros_like(a)); };
    auto kept = [&](const array& a) { return select(ready, zeros_like(a), a); };
    return {map_floating(given, average),
            {select(ready, zeros_like(now), now), ready, map_floating(kept, average), map_floating(kept, sums),
             map_floating(given, sums), now * static_cast<int>(size)}};
  }
};

template <class Params>
struct moments_state {
  array count = zeros({}, i32), ema_decay = zeros({});
  Params mean{}, variance{};
};
/// Averages of means and variances, of what stands before it in `process`. Updates pass.
/// source  track_per_element_mean_and_variance_with_ema
struct track_mean_and_variance {
  double ema_decay = 0.9;

  template <class Params>
  constexpr moments_state<Params> init(const Params& params) const {
    const Params none = optim::zeros_like(params);
    return {zeros({}, i32), full({}, ema_decay), none, none};
  }
  template <class Params, class Extra>
  constexpr std::pair<Params, moments_state<Params>> update(const Params& u, const moments_state<Params>& s,
                                                            const Params&, const Extra& extra) const {
    static_assert(
        requires { extra.sum_sq_diff_grads; },
        "tokamax: track_mean_and_variance: update needs extra.sum_sq_diff_grads and sample_size, as process gives "
        "them");
    const array degrees = astype(extra.sample_size, f32) - 1.0;
    auto fold = [&](const array& a, const array& x) { return optim::detail::averaged(array(ema_decay), x, a); };
    auto scatter = [&](const array& a, const array& x) { return fold(a, x / degrees); };
    return {u,
            {incremented(s.count), s.ema_decay, map_floating(fold, s.mean, u),
             map_floating(scatter, s.variance, extra.sum_sq_diff_grads)}};
  }
};
/// The means and variances of such a state, corrected for starting at 0.
/// source  get_unbiased_mean_and_variance_ema
template <class Params>
constexpr std::pair<Params, Params> unbiased_mean_and_variance(const moments_state<Params>& s) {
  const array share = optim::detail::share(s.ema_decay, astype(s.count, f32));
  auto corrected = [&](const array& a) { return optim::detail::corrected(a, share); };
  return {map_floating(corrected, s.mean), map_floating(corrected, s.variance)};
}

/// Runs `before` on gradients of examples, `aggregator` on its result, and `after`, an optimiser, on the one update that is left.
/// `after` runs in calls in which the aggregator is ready, and finds the aggregator's state as `extra`; in others updates are 0.
template <class Before, class Aggregator, class After>
struct process {
  Before before;
  Aggregator aggregator;
  After after;

  template <class Params>
  constexpr auto init(const Params& params) const {
    return std::tuple{before.init(params), aggregator.init(params), after.init(params)};
  }
  template <class Params, class State>
  constexpr std::pair<Params, State> update(const Params& g, const State& s, const Params& params) const {
    auto [single, first] = before.update(g, std::get<0>(s), params);
    auto [one, second] = aggregator.update(single, std::get<1>(s), params);
    const auto& aggregated = second;
    if constexpr (requires { aggregated.ready; }) {
      const auto run = [&](const Params& u, const auto& state, const Params& p, const auto& facts) {
        auto [changed, next] = update_with(after, u, state, p, facts);
        return std::pair{changed, next};
      };
      const auto wait = [](const Params& u, const auto& state, const Params&, const auto&) {
        return std::pair{optim::zeros_like(u), state};
      };
      auto [updates, third] = cond(aggregated.ready, run, wait, one, std::get<2>(s), params, aggregated);
      return {std::move(updates), State{first, aggregated, third}};
    } else {
      auto [updates, third] = update_with(after, one, std::get<2>(s), params, aggregated);
      return {std::move(updates), State{first, aggregated, third}};
    }
  }
};
template <class Before, class Aggregator, class After>
process(Before, Aggregator, After) -> process<Before, Aggregator, After>;

/// An optimiser that also keeps averages of the mean and the variance of gradients: part 0 of part 2 of its state.
/// source  add_mean_variance_to_opt
template <class Optimizer>
constexpr auto add_mean_variance_to_opt(const Optimizer& optimizer, double ema_decay = 0.9, const axes& axis = 0,
                                        int steps = 1) {
  return process{identity{}, mean_and_sum_sq_diff{axis, steps}, chain(track_mean_and_variance{ema_decay}, optimizer)};
}

}  // namespace tokamax::optim::aggregating
