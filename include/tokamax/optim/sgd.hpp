// tokamax/optim/sgd.hpp: gradient descent, with momentum if asked for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/optim/scale.hpp>  // scale_by_learning_rate

namespace tokamax::optim {

template <class Params>
struct trace_state {
  Params velocity{};
};

/// Momentum: v = u + decay * v; the update is v, or u + decay * v once more (Nesterov).
/// source  optax.trace
struct trace {
  double decay = 0.9;
  bool nesterov = false;

  template <class Params>
  constexpr trace_state<Params> init(const Params& params) const {
    return {zeros_like(params)};
  }
  template <class Params>
  constexpr std::pair<Params, trace_state<Params>> update(const Params& updates, const trace_state<Params>& s,
                                                          const Params&) const {
    auto add = [this](const array& v, const array& u) { return u + decay * v; };
    const Params velocity = map_floating(add, s.velocity, updates);
    if (nesterov) return {map_floating(add, velocity, updates), {velocity}};
    return {velocity, {velocity}};
  }
};

template <class Schedule = schedule>
struct sgd_options {
  Schedule learning_rate;
  double momentum = 0.9;
  bool nesterov = false;
};

/// Gradient descent: params - rate * gradient.
/// source  optax.sgd
constexpr auto sgd(schedule learning_rate) { return scale_by_learning_rate{learning_rate}; }
/// The same with momentum: `sgd({.learning_rate = 0.1, .momentum = 0.9})`.
template <class Options = sgd_options<>>
  requires requires(const Options& o) { o.momentum; }
constexpr auto sgd(const Options& o) {
  return chain(trace{o.momentum, o.nesterov}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
