// tokamax/optim/descent/optimistic.hpp: steps that look ahead by the difference of the last two gradients, for games.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/descent/first_order.cpp
#pragma once

#include <tokamax/optim/adaptive/adam.hpp>  // scale_by_adam

namespace tokamax::optim {

template <class Params>
struct optimistic_state {
  array is_first = ones({}, bool_);
  Params before{};  ///< the last gradient
};

/// (alpha + beta) g - beta g', where g' is the last gradient, and in the first step g.
/// source  optax.scale_by_optimistic_gradient; Mokhtari et al. 2019, arXiv:1901.08511
struct scale_by_optimistic_gradient {
  array alpha = 1.0, beta = 1.0;

  template <class Params>
  constexpr optimistic_state<Params> init(const Params& params) const {
    return {ones({}, bool_), zeros_like(params)};
  }
  template <class Params>
  constexpr std::pair<Params, optimistic_state<Params>> update(const Params& g, const optimistic_state<Params>& s,
                                                               const Params&) const {
    auto step = [&](const array& x, const array& b) {
      return detail::times(x, alpha + beta) - detail::times(select(s.is_first, x, b), beta);
    };
    return {map_floating(step, g, s.before), {zeros({}, bool_), with_parameters(s.before, g)}};
  }
};

template <class Schedule = schedule>
struct optimistic_gradient_descent_options {
  Schedule learning_rate;
  array alpha = 1.0, beta = 1.0;
};
/// source  optax.optimistic_gradient_descent
template <class Options = optimistic_gradient_descent_options<>>
constexpr auto optimistic_gradient_descent(const Options& o) {
  return chain(scale_by_optimistic_gradient{o.alpha, o.beta}, scale_by_learning_rate{o.learning_rate});
}

template <class Schedule = schedule>
struct optimistic_adam_options {
  Schedule learning_rate;
  array alpha = 1.0, beta = 1.0, b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.0;
  bool nesterov = true;
};
/// Adam, whose updates look ahead.
/// source  optax.optimistic_adam_v2; Daskalakis et al. 2017, arXiv:1711.00141
template <class Options = optimistic_adam_options<>>
constexpr auto optimistic_adam(const Options& o) {
  return chain(scale_by_adam{o.b1, o.b2, o.eps, o.eps_root, o.nesterov}, scale_by_optimistic_gradient{o.alpha, o.beta},
               scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
