// tokamax/optim/adaptive/radam.hpp: Adam that divides by squares once it has seen enough of them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/optimisers.cpp
#pragma once

#include <tokamax/optim/adaptive/adam.hpp>  // adam_state, scale_by_learning_rate

namespace tokamax::optim {

/// mu and nu as in scale_by_adam. With r_inf = 2 / (1 - b2) - 1 and r = r_inf - 2 t b2^t / (1 - b2^t):
///
///   u = mu / (1 - b1^t)                                                          where r < threshold
///   u = that * sqrt((r - 4) (r - 2) r_inf / ((r_inf - 4) (r_inf - 2) r)) / (sqrt(nu / (1 - b2^t) + eps_root) + eps)
///
/// dtypes  as scale_by_adam
/// source  optax.scale_by_radam; Liu et al. 2020, arXiv:1908.03265
struct scale_by_radam {
  array b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.0, threshold = 5;
  bool nesterov = false;

  template <class Params>
  constexpr adam_state<Params> init(const Params& params) const {
    return detail::first_state(params);
  }
  template <class Params>
  constexpr std::pair<Params, adam_state<Params>> update(const Params& g, const adam_state<Params>& s,
                                                         const Params&) const {
    const array count = incremented(s.count), t = astype(count, f32), nu_share = detail::share(b2, t);
    const Params mu = detail::moved(b1, s.mu, g), nu = detail::moved_squares(b2, s.nu, g);
    const array limit = detail::of_number([](const auto& b) { return 2.0 / (1.0 - b) - 1.0; }, b2);
    const array r = limit - 2.0 * t * power(b2, t) / nu_share;
    const array factor = sqrt((r - 4.0) * (r - 2.0) * limit /
                              (detail::of_number([](const auto& n) { return (n - 4.0) * (n - 2.0); }, limit) * r));
    const detail::corrected_mean mean(b1, nesterov, t);
    auto step = [&](const array& m, const array& n, const array& x) {
      const array plain = mean(m, x);
      const array divided = astype(factor, m.dtype()) * plain / (sqrt(detail::corrected(n, nu_share) + eps_root) + eps);
      return astype(select(r >= threshold, divided, plain), x.dtype());
    };
    return {map_floating(step, mu, nu, g), {count, mu, nu}};
  }
};

template <class Schedule = schedule>
struct radam_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.0, threshold = 5;
  bool nesterov = false;
};
/// source  optax.radam
template <class Options = radam_options<>>
constexpr auto radam(const Options& o) {
  return chain(scale_by_radam{o.b1, o.b2, o.eps, o.eps_root, o.threshold, o.nesterov},
               scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
