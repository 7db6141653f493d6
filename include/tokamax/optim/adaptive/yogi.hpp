// tokamax/optim/adaptive/yogi.hpp: Adam whose average of squares grows by no more than a square at a time.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/optimisers.cpp
#pragma once

#include <tokamax/optim/adaptive/adam.hpp>  // adam_state, scale_by_learning_rate

namespace tokamax::optim {

/// mu as in scale_by_adam, nu = nu - (1 - b2) sign(nu - g^2) g^2, u = mu / (1 - b1^t) / (sqrt(nu / (1 - b2^t) + eps_root) + eps).
/// Both start at `initial`.
/// dtypes  as scale_by_adam
/// source  optax.scale_by_yogi; Zaheer et al. 2018
struct scale_by_yogi {
  array b1 = 0.9, b2 = 0.999, eps = 1e-3, eps_root = 0.0, initial = 1e-6;

  template <class Params>
  constexpr adam_state<Params> init(const Params& params) const {
    const Params start = map_floating(
        [&](const array& p) { return broadcast_to(astype(initial, p.dtype()), p.shape()); }, for_averages(params));
    return {zeros({}, i32), start, start};
  }
  template <class Params>
  constexpr std::pair<Params, adam_state<Params>> update(const Params& g, const adam_state<Params>& s,
                                                         const Params&) const {
    const array count = incremented(s.count), t = astype(count, f32), nu_share = detail::share(b2, t);
    const Params mu = detail::moved(b1, s.mu, g);
    const Params nu = map_floating(
        [&](const array& n, const array& x) {
          const array wide = astype(x, n.dtype()), square = wide * wide;
          return n - detail::rest(b2) * sign(n - square) * square;
        },
        s.nu, g);
    const detail::corrected_mean mean(b1, false, t);
    auto step = [&](const array& m, const array& n, const array& x) {
      return astype(mean(m, x) / (sqrt(detail::corrected(n, nu_share) + eps_root) + eps), x.dtype());
    };
    return {map_floating(step, mu, nu, g), {count, mu, nu}};
  }
};

template <class Schedule = schedule>
struct yogi_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.999, eps = 1e-3;
};
/// source  optax.yogi
template <class Options = yogi_options<>>
constexpr auto yogi(const Options& o) {
  return chain(scale_by_yogi{o.b1, o.b2, o.eps}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
