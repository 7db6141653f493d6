// tokamax/optim/adaptive/ademamix.hpp: Adam with a second, slow average of gradients.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/adaptive/averages.cpp
#pragma once

#include <tokamax/optim/transforms/moments.hpp>  // moved, corrected
#include <tokamax/optim/transforms/scale.hpp>    // scale_by_learning_rate, add_decayed_weights

namespace tokamax::optim {

template <class Params>
struct ademamix_state {
  array count = zeros({}, i32);  ///< updates so far
  Params m1{}, m2{}, nu{};       ///< a fast and a slow average of gradients, and one of squares
};

/// m1 and m2 are averages with b1 and b3, nu that of squares with b2:
///
///   u = (m1 / (1 - b1^t) + alpha m2) / (sqrt(nu / (1 - b2^t) + eps_root) + eps)
///
/// b3 and alpha are numbers or schedules.
/// dtypes  averages of leaves of 16 bits are f32
/// source  optax.contrib.scale_by_ademamix; Pagliardini et al. 2024, arXiv:2409.03137
struct scale_by_ademamix {
  array b1 = 0.9, b2 = 0.999;
  schedule b3 = 0.9999, alpha = 6.0;
  array eps = 1e-8, eps_root = 0.0;

  template <class Params>
  constexpr ademamix_state<Params> init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    return {zeros({}, i32), start, start, start};
  }
  template <class Params>
  constexpr std::pair<Params, ademamix_state<Params>> update(const Params& g, const ademamix_state<Params>& s,
                                                             const Params&) const {
    const array count = incremented(s.count), t = astype(count, f32), slow = alpha.at(s.count);
    const Params m1 = detail::moved(b1, s.m1, g), m2 = detail::moved(b3.at(s.count), s.m2, g),
                 nu = detail::moved_squares(b2, s.nu, g);
    const array of_m = detail::share(b1, t), of_nu = detail::share(b2, t);
    auto step = [&](const array& x, const array& a, const array& b, const array& n) {
      const array root = sqrt(detail::corrected(n, of_nu) + eps_root) + eps;
      return astype((detail::corrected(a, of_m) + slow * b) / root, x.dtype());
    };
    return {map_floating(step, g, m1, m2, nu), {count, m1, m2, nu}};
  }
};

template <class Schedule = schedule, class Mask = mask>
struct ademamix_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.999;
  schedule b3 = 0.9999, alpha = 5.0;
  array eps = 1e-8, eps_root = 0.0, weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// source  optax.contrib.ademamix
template <class Options = ademamix_options<>>
constexpr auto ademamix(const Options& o) {
  return chain(scale_by_ademamix{o.b1, o.b2, o.b3, o.alpha, o.eps, o.eps_root},
               add_decayed_weights{o.weight_decay, o.only}, scale_by_learning_rate{o.learning_rate});
}

/// m = b1 m + g, without a share of 1 - b1, and nu is the average of squares:
///
///   u = (m + alpha g) / (sqrt(nu / (1 - b2^t) + eps_root) + eps)
///
/// source  optax.contrib.scale_by_simplified_ademamix; Morwani et al. 2025, arXiv:2502.02431
struct scale_by_simplified_ademamix {
  array b1 = 0.99, b2 = 0.95;
  schedule alpha = 0.0;
  array eps = 1e-8, eps_root = 0.0;

  template <class Params>
  constexpr adam_state<Params> init(const Params& params) const {
    return detail::first_state(params);
  }
  template <class Params>
  constexpr std::pair<Params, adam_state<Params>> update(const Params& g, const adam_state<Params>& s,
                                                         const Params&) const {
    const array count = incremented(s.count), of_nu = detail::share(b2, astype(count, f32)), now = alpha.at(s.count);
    const Params mu =
        map_floating([this](const array& m, const array& x) { return astype(x, m.dtype()) + b1 * m; }, s.mu, g);
    const Params nu = detail::moved_squares(b2, s.nu, g);
    auto step = [&](const array& x, const array& m, const array& n) {
      const array root = sqrt(detail::corrected(n, of_nu) + eps_root) + eps;
      return astype((m + now * astype(x, m.dtype())) / root, x.dtype());
    };
    return {map_floating(step, g, mu, nu), {count, mu, nu}};
  }
};

template <class Schedule = schedule, class Mask = mask>
struct simplified_ademamix_options {
  Schedule learning_rate;
  array b1 = 0.99, b2 = 0.95;
  schedule alpha = 0.0;
  array eps = 1e-8, eps_root = 0.0, weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// source  optax.contrib.simplified_ademamix
template <class Options = simplified_ademamix_options<>>
constexpr auto simplified_ademamix(const Options& o) {
  return chain(scale_by_simplified_ademamix{o.b1, o.b2, o.alpha, o.eps, o.eps_root},
               add_decayed_weights{o.weight_decay, o.only}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
