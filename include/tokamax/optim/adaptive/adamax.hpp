// tokamax/optim/adaptive/adamax.hpp: Adam with a decaying maximum of gradients in place of their squares.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/optimisers.cpp
#pragma once

#include <tokamax/optim/adaptive/adam.hpp>  // adam_state, scale_by_learning_rate, add_decayed_weights

namespace tokamax::optim {

/// mu as in scale_by_adam, n = max(|g| + eps, b2 n), u = mu / (1 - b1^t) / n.
/// dtypes  as scale_by_adam
/// source  optax.scale_by_adamax; Kingma, Ba 2015, arXiv:1412.6980, algorithm 2
struct scale_by_adamax {
  array b1 = 0.9, b2 = 0.999, eps = 1e-8;

  template <class Params>
  constexpr adam_state<Params> init(const Params& params) const {
    return detail::first_state(params);
  }
  template <class Params>
  constexpr std::pair<Params, adam_state<Params>> update(const Params& g, const adam_state<Params>& s,
                                                         const Params&) const {
    const array count = incremented(s.count), t = astype(count, f32);
    const Params mu = detail::moved(b1, s.mu, g);
    const Params nu = map_floating(
        [&](const array& n, const array& x) { return maximum(abs(astype(x, n.dtype())) + eps, b2 * n); }, s.nu, g);
    const detail::corrected_mean mean(b1, false, t);
    auto step = [&](const array& m, const array& n, const array& x) { return astype(mean(m, x) / n, x.dtype()); };
    return {map_floating(step, mu, nu, g), {count, mu, nu}};
  }
};

template <class Schedule = schedule>
struct adamax_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.999, eps = 1e-8;
};
/// source  optax.adamax
template <class Options = adamax_options<>>
constexpr auto adamax(const Options& o) {
  return chain(scale_by_adamax{o.b1, o.b2, o.eps}, scale_by_learning_rate{o.learning_rate});
}

template <class Schedule = schedule, class Mask = mask>
struct adamaxw_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.999, eps = 1e-8, weight_decay = 1e-4;
  Mask only = everything;
};
/// source  optax.adamaxw
template <class Options = adamaxw_options<>>
constexpr auto adamaxw(const Options& o) {
  return chain(scale_by_adamax{o.b1, o.b2, o.eps}, add_decayed_weights{o.weight_decay, o.only},
               scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
