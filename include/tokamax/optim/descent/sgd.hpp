// tokamax/optim/descent/sgd.hpp: gradient descent, with momentum if asked for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/optim/transforms/moments.hpp>  // kept
#include <tokamax/optim/transforms/scale.hpp>    // scale_by_learning_rate

namespace tokamax::optim {

template <class Params>
struct trace_state {
  Params velocity{};
};

/// Momentum: v = u + decay * v; the update is v, or u + decay * v once more (Nesterov). A decay of 0 keeps no state.
/// source  optax.trace
struct trace {
  array decay = 0.9;
  bool nesterov = false;
  dtype accumulator_dtype = dtype::none;  ///< of v; none: that of the parameter

  template <class Params>
  constexpr trace_state<Params> init(const Params& params) const {
    if (detail::is_zero(decay)) return {nothing_like(params)};
    return {detail::kept(zeros_like(params), accumulator_dtype)};
  }
  template <class Params>
  constexpr std::pair<Params, trace_state<Params>> update(const Params& updates, const trace_state<Params>& s,
                                                          const Params&) const {
    if (detail::is_zero(decay)) return {updates, s};
    auto add = [this](const array& v, const array& u) { return detail::widened(u) + detail::wide_times(v, decay); };
    auto like = [](const array& x, const array& wide) { return astype(wide, x.dtype()); };
    const Params velocity = map_floating(add, s.velocity, updates), kept = map_floating(like, s.velocity, velocity);
    if (nesterov) return {map_floating(like, updates, map_floating(add, velocity, updates)), {kept}};
    return {map_floating(like, updates, velocity), {kept}};
  }
};

template <class Params>
struct optional_trace_state {
  Params velocity = nothing_like(Params{});
};
/// Momentum that most programs leave out: the state has nothing by default.
struct optional_trace {
  trace inner;

  template <class Params>
  constexpr optional_trace_state<Params> init(const Params& params) const {
    return {inner.init(params).velocity};
  }
  template <class Params>
  constexpr std::pair<Params, optional_trace_state<Params>> update(const Params& updates,
                                                                   const optional_trace_state<Params>& s,
                                                                   const Params& params) const {
    auto [changed, next] = inner.update(updates, trace_state<Params>{s.velocity}, params);
    return {std::move(changed), {std::move(next.velocity)}};
  }
};

template <class Schedule = schedule>
struct sgd_options {
  Schedule learning_rate;
  array momentum = 0.9;
  bool nesterov = false;
  dtype accumulator_dtype = dtype::none;
};

/// Gradient descent: params - rate * gradient.
/// source  optax.sgd
constexpr auto sgd(schedule learning_rate) { return scale_by_learning_rate{learning_rate}; }
/// The same with momentum: `sgd({.learning_rate = 0.1, .momentum = 0.9})`.
template <class Options = sgd_options<>>
  requires requires(const Options& o) { o.momentum; }
constexpr auto sgd(const Options& o) {
  return chain(trace{o.momentum, o.nesterov, o.accumulator_dtype}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
