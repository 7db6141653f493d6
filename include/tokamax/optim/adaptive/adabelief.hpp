// tokamax/optim/adaptive/adabelief.hpp: Adam that divides by how far gradients are from their average.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/optimisers.cpp
#pragma once

#include <tokamax/optim/adaptive/adam.hpp>  // adam_state, scale_by_learning_rate

namespace tokamax::optim {

/// mu as in scale_by_adam, nu = b2 nu + (1 - b2) (g - mu)^2 + eps_root, u = mu / (1 - b1^t) / (sqrt(nu / (1 - b2^t)) + eps).
/// dtypes  as scale_by_adam
/// source  optax.scale_by_belief; Zhuang et al. 2020, arXiv:2010.07468
struct scale_by_belief {
  array b1 = 0.9, b2 = 0.999, eps = 1e-16, eps_root = 1e-16;
  bool nesterov = false;

  template <class Params>
  constexpr adam_state<Params> init(const Params& params) const {
    return detail::first_state(params);
  }
  template <class Params>
  constexpr std::pair<Params, adam_state<Params>> update(const Params& g, const adam_state<Params>& s,
                                                         const Params&) const {
    const array count = incremented(s.count), t = astype(count, f32), nu_share = detail::share(b2, t);
    const Params mu = detail::moved(b1, s.mu, g);
    const Params nu = map_floating(
        [&](const array& n, const array& x, const array& m) {
          const array error = astype(x, n.dtype()) - m;
          return detail::averaged(b2, error * error, n) + eps_root;
        },
        s.nu, g, mu);
    const detail::corrected_mean mean(b1, nesterov, t);
    auto step = [&](const array& m, const array& n, const array& x) {
      return astype(mean(m, x) / (sqrt(detail::corrected(n, nu_share)) + eps), x.dtype());
    };
    return {map_floating(step, mu, nu, g), {count, mu, nu}};
  }
};

template <class Schedule = schedule>
struct adabelief_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.999, eps = 1e-16, eps_root = 1e-16;
  bool nesterov = false;
};
/// source  optax.adabelief
template <class Options = adabelief_options<>>
constexpr auto adabelief(const Options& o) {
  return chain(scale_by_belief{o.b1, o.b2, o.eps, o.eps_root, o.nesterov}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
