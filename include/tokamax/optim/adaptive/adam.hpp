// tokamax/optim/adaptive/adam.hpp: adam, and adamw with decoupled weight decay.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/optim/transforms/moments.hpp>  // moved, moved_squares, corrected_mean
#include <tokamax/optim/transforms/scale.hpp>    // scale_by_learning_rate, add_decayed_weights

namespace tokamax::optim {

/// Divides the average gradient by the root of the average square. Both averages are corrected for starting at zero.
///
///   mu = b1 mu + (1 - b1) g,  nu = b2 nu + (1 - b2) g^2
///   u  = mu / (1 - b1^t) / (sqrt(nu / (1 - b2^t) + eps_root) + eps)
///
/// With `nesterov` b1 mu / (1 - b1^(t+1)) + (1 - b1) g / (1 - b1^t) takes the place of mu / (1 - b1^t).
///
/// dtypes  mu and nu of leaves of 16 bits are f32, where Optax has the dtype of the leaf and divides by 0; u has that of g
/// source  optax.scale_by_adam; Kingma, Ba 2015, arXiv:1412.6980, algorithm 1
struct scale_by_adam {
  array b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.0;
  bool nesterov = false;
  dtype mu_dtype = dtype::none;  ///< in which mu is kept; none: f32, and f64 of f64

  template <class Params>
  constexpr adam_state<Params> init(const Params& params) const {
    adam_state<Params> s = detail::first_state(params);
    s.mu = detail::kept(s.mu, mu_dtype);
    return s;
  }
  template <class Params>
  constexpr std::pair<Params, adam_state<Params>> update(const Params& g, const adam_state<Params>& s,
                                                         const Params&) const {
    const array count = incremented(s.count), t = astype(count, f32);
    const Params mu = detail::moved(b1, detail::widened(s.mu, mu_dtype), g);
    const Params nu = detail::moved_squares(b2, s.nu, g);
    const detail::corrected_mean mean(b1, nesterov, t);
    const array nu_share = detail::share(b2, t);
    auto step = [&](const array& m, const array& n, const array& x) {
      array square = detail::corrected(n, nu_share);
      if (!detail::is_zero(eps_root)) square = square + eps_root;
      return astype(mean(m, x) / (sqrt(square) + eps), x.dtype());
    };
    return {map_floating(step, mu, nu, g), {count, detail::kept(mu, mu_dtype), nu}};
  }
};

template <class Schedule = schedule>
struct adam_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.0;
  bool nesterov = false;
  dtype mu_dtype = dtype::none;
};
/// Adam: `adam({.learning_rate = 1e-3})`, and NAdam with `.nesterov = true`.
/// source  optax.adam, nadam
template <class Options = adam_options<>>
constexpr auto adam(const Options& o) {
  return chain(scale_by_adam{o.b1, o.b2, o.eps, o.eps_root, o.nesterov, o.mu_dtype},
               scale_by_learning_rate{o.learning_rate});
}

template <class Schedule = schedule, class Mask = mask>
struct adamw_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.0;
  array weight_decay = 1e-4;
  Mask only = everything;  ///< the parameters that decay; `matrices` excludes biases and scales
  bool nesterov = false;
  dtype mu_dtype = dtype::none;
};
/// Adam with weight decay that is added after the division by the root of squares.
///
///   params - rate * (u + weight_decay * params)
///
/// source  optax.adamw, nadamw; Loshchilov, Hutter 2019, arXiv:1711.05101
template <class Options = adamw_options<>>
constexpr auto adamw(const Options& o) {
  return chain(scale_by_adam{o.b1, o.b2, o.eps, o.eps_root, o.nesterov, o.mu_dtype},
               add_decayed_weights{o.weight_decay, o.only}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
