// tokamax/optim/adaptive/amsgrad.hpp: Adam with the greatest average of squares so far.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/optimisers.cpp
#pragma once

#include <tokamax/optim/transforms/moments.hpp>  // moved, moved_squares, corrected_mean
#include <tokamax/optim/transforms/scale.hpp>    // scale_by_learning_rate

namespace tokamax::optim {

template <class Params>
struct amsgrad_state {
  array count = zeros({}, i32);  ///< updates so far
  Params mu = for_averages(Params{}), nu = for_averages(Params{}), nu_max = for_averages(Params{});
};

/// mu and nu as in scale_by_adam, n = max(n, nu / (1 - b2^t)), u = mu / (1 - b1^t) / (sqrt(n + eps_root) + eps).
/// dtypes  as scale_by_adam
/// source  optax.scale_by_amsgrad; Reddi et al. 2018, arXiv:1904.09237
struct scale_by_amsgrad {
  array b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.0;
  bool bias_correction_mu = true, bias_correction_nu = true;

  template <class Params>
  constexpr amsgrad_state<Params> init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    return {zeros({}, i32), start, start, start};
  }
  template <class Params>
  constexpr std::pair<Params, amsgrad_state<Params>> update(const Params& g, const amsgrad_state<Params>& s,
                                                            const Params&) const {
    const array count = incremented(s.count), t = astype(count, f32), nu_share = detail::share(b2, t);
    const Params mu = detail::moved(b1, s.mu, g), nu = detail::moved_squares(b2, s.nu, g);
    const Params most = map_floating(
        [&](const array& m, const array& n) {
          if (!bias_correction_nu) return maximum(m, n);
          return maximum(m, detail::corrected(n, nu_share));
        },
        s.nu_max, nu);
    const detail::corrected_mean mean(b1, false, t);
    auto step = [&](const array& m, const array& n, const array& x) {
      array average = m;
      if (bias_correction_mu) average = mean(m, x);
      return astype(average / (sqrt(n + eps_root) + eps), x.dtype());
    };
    return {map_floating(step, mu, most, g), {count, mu, nu, most}};
  }
};

template <class Schedule = schedule>
struct amsgrad_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.0;
  bool bias_correction_mu = true, bias_correction_nu = true;
};
/// source  optax.amsgrad
template <class Options = amsgrad_options<>>
constexpr auto amsgrad(const Options& o) {
  return chain(scale_by_amsgrad{o.b1, o.b2, o.eps, o.eps_root, o.bias_correction_mu, o.bias_correction_nu},
               scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
