// tokamax/optim/descent/trust_ratio.hpp: LAMB and LARS, which scale each layer's update by the norm of its parameters.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/optimisers.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>               // sum
#include <tokamax/optim/adaptive/adam.hpp>      // scale_by_adam
#include <tokamax/optim/descent/sgd.hpp>        // trace
#include <tokamax/optim/transforms/masked.hpp>  // masked

namespace tokamax::optim {

/// u * coefficient * |p| / (|u| + eps), for each leaf; u where a norm is 0. Norms are at least `min_norm`.
/// dtypes  norms of leaves of 16 bits are sums in f32
/// source  optax.scale_by_trust_ratio; You et al. 2020, arXiv:1904.00962
struct scale_by_trust_ratio {
  double min_norm = 0, coefficient = 1, eps = 0;

  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Params>
  constexpr std::pair<Params, empty_state> update(const Params& updates, empty_state s, const Params& params) const {
    auto norm = [this](const array& x) {
      const array wide = astype(x, carrying(x.dtype())), length = sqrt(sum(wide * wide));
      if (min_norm > 0) return maximum(length, array(min_norm));
      return length;
    };
    auto scaled = [&](const array& u, const array& p) {
      const array of_p = norm(p), of_u = norm(u), ratio = coefficient * of_p / (of_u + eps);
      const array safe = select(logical_or(of_p == 0, of_u == 0), ones({}, ratio.dtype()), ratio);
      return astype(astype(u, safe.dtype()) * safe, u.dtype());
    };
    return {map_floating(scaled, updates, params), s};
  }
};

/// -rate m u + (m - 1) p with m = 1 / sqrt(1 + rate^2), which keeps the norms of parameters: the end of fromage.
template <class Schedule = schedule>
struct scale_by_fromage {
  Schedule rate;

  template <class Params>
  constexpr rate_state init(const Params&) const {
    return {};
  }
  template <class Params>
  constexpr std::pair<Params, rate_state> update(const Params& updates, const rate_state& s,
                                                 const Params& params) const {
    const array now = astype(rate(s.count), f32), root = sqrt(1.0 + now * now);
    const array down = now / root * -1.0, shrink = now * now / (root * (1.0 + root)) * -1.0;  // m - 1 has lost digits
    auto step = [&](const array& u, const array& p) {
      return u * astype(down, u.dtype()) + p * astype(shrink, p.dtype());
    };
    return {map_floating(step, updates, params), {incremented(s.count), now}};
  }
};

template <class Schedule = schedule>
struct fromage_options {
  Schedule learning_rate;
  double min_norm = 1e-6;
};
/// Trust ratios, and parameters that are divided by what the step adds to their norms.
/// source  optax.fromage; Bernstein et al. 2020, arXiv:2002.03432
template <class Options = fromage_options<>>
constexpr auto fromage(const Options& o) {
  using rate = std::remove_cvref_t<decltype(o.learning_rate)>;
  return chain(scale_by_trust_ratio{o.min_norm}, scale_by_fromage<rate>{o.learning_rate});
}

template <class Schedule = schedule, class Mask = mask>
struct lamb_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.999, eps = 1e-6, eps_root = 0.0, weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// Adam with decay, and the trust ratio of each leaf.
/// source  optax.lamb
template <class Options = lamb_options<>>
constexpr auto lamb(const Options& o) {
  return chain(scale_by_adam{o.b1, o.b2, o.eps, o.eps_root}, add_decayed_weights{o.weight_decay, o.only},
               scale_by_trust_ratio{}, scale_by_learning_rate{o.learning_rate});
}

template <class Schedule = schedule, class Mask = mask, class Trusted = mask>
struct lars_options {
  Schedule learning_rate;
  array weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
  double trust_coefficient = 0.001, eps = 0;
  Trusted trusted = everything;  ///< the parameters that are scaled by their trust ratio
  array momentum = 0.9;
  bool nesterov = false;
};
/// Momentum of gradients that are scaled by the trust ratio of each leaf.
/// source  optax.lars; You et al. 2017, arXiv:1708.03888
template <class Options = lars_options<>>
constexpr auto lars(const Options& o) {
  return chain(add_decayed_weights{o.weight_decay, o.only},
               masked(scale_by_trust_ratio{0, o.trust_coefficient, o.eps}, o.trusted),
               scale_by_learning_rate{o.learning_rate}, trace{o.momentum, o.nesterov});
}

}  // namespace tokamax::optim
