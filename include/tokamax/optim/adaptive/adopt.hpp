// tokamax/optim/adaptive/adopt.hpp: ADOPT and ACProp, which divide a gradient by squares that do not contain it.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/adaptive/averages.cpp
#pragma once

#include <tokamax/numpy/clip.hpp>                // clip
#include <tokamax/optim/transforms/moments.hpp>  // moved, moved_squares
#include <tokamax/optim/transforms/scale.hpp>    // scale_by_learning_rate, add_decayed_weights

namespace tokamax::optim {

/// x = g / max(sqrt(nu), eps), with the nu of the last step, kept within t^(1/4), where t counts from 0. The update is the
/// average of x with b1, and nu is then the average of squares with b2. The first step only sets nu to g^2.
///
/// dtypes  averages of leaves of 16 bits are f32
/// source  optax.contrib.scale_by_adopt; Taniguchi et al. 2024, arXiv:2411.02853
struct scale_by_adopt {
  array b1 = 0.9, b2 = 0.9999, eps = 1e-6;
  bool nesterov = false;
  bool use_clipping = true;

  template <class Params>
  constexpr adam_state<Params> init(const Params& params) const {
    return detail::first_state(params);
  }
  template <class Params>
  constexpr std::pair<Params, adam_state<Params>> update(const Params& g, const adam_state<Params>& s,
                                                         const Params&) const {
    const array later = s.count > 0, limit = power(astype(s.count, f32), array(0.25));
    const array now1 = select(later, astype(b1, f32), ones({})), now2 = select(later, astype(b2, f32), zeros({}));
    auto divide = [&](const array& n, const array& x) {
      const array y = astype(x, n.dtype()) / maximum(sqrt(n), eps);
      if (!use_clipping) return y;
      return clip(y, -limit, limit);
    };
    const Params x = map_floating(divide, s.nu, g);
    const Params mu = detail::moved(now1, s.mu, x), nu = detail::moved_squares(now2, s.nu, g);
    auto step = [&](const array& like, const array& m, const array& y) {
      if (!nesterov) return astype(m, like.dtype());
      return astype(detail::averaged(now1, y, m), like.dtype());
    };
    return {map_floating(step, g, mu, x), {incremented(s.count), mu, nu}};
  }
};

template <class Schedule = schedule>
struct adopt_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.9999, eps = 1e-6;
  bool nesterov = false, use_clipping = true;
};
/// source  optax.contrib.adopt
template <class Options = adopt_options<>>
constexpr auto adopt(const Options& o) {
  return chain(scale_by_adopt{o.b1, o.b2, o.eps, o.nesterov, o.use_clipping}, scale_by_learning_rate{o.learning_rate});
}

/// u = g / (sqrt(nu / (1 - b2^(t - 1))) + eps), with the nu of the last step, and u = g / (1 + eps) in the first one. Then
/// nu is the average of (g - mu)^2 + eps_root, for the mu of the last step, and mu that of g.
///
/// dtypes  averages of leaves of 16 bits are f32
/// source  optax.contrib.scale_by_acprop; Zhuang et al. 2021, arXiv:2110.05454
struct scale_by_acprop {
  array b1 = 0.9, b2 = 0.999, eps = 1e-16, eps_root = 1e-16;

  template <class Params>
  constexpr adam_state<Params> init(const Params& params) const {
    return detail::first_state(params);
  }
  template <class Params>
  constexpr std::pair<Params, adam_state<Params>> update(const Params& g, const adam_state<Params>& s,
                                                         const Params&) const {
    const array first = s.count == 0, count = incremented(s.count);
    const array of_nu = detail::share(b2, astype(maximum(s.count, ones({}, i32)), f32));
    const Params mu = detail::moved(b1, s.mu, g);
    auto spread = [&](const array& n, const array& x, const array& m) {
      const array error = astype(x, n.dtype()) - m;
      return detail::averaged(b2, error * error, n) + eps_root;
    };
    auto step = [&](const array& x, const array& n) {
      const array seen = select(first, ones_like(n), detail::corrected(n, of_nu));
      return astype(astype(x, n.dtype()) / (sqrt(seen) + eps), x.dtype());
    };
    return {map_floating(step, g, s.nu), {count, mu, map_floating(spread, s.nu, g, s.mu)}};
  }
};

template <class Schedule = schedule, class Mask = mask>
struct acprop_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.999, eps = 1e-16, eps_root = 1e-16, weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// source  optax.contrib.acprop
template <class Options = acprop_options<>>
constexpr auto acprop(const Options& o) {
  return chain(scale_by_acprop{o.b1, o.b2, o.eps, o.eps_root}, add_decayed_weights{o.weight_decay, o.only},
               scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
