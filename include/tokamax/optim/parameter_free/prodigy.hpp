// tokamax/optim/parameter_free/prodigy.hpp: Adam that finds its learning rate.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/parameter_free/parameter_free.cpp
#pragma once

#include <tokamax/optim/transforms/moments.hpp>  // share
#include <tokamax/optim/transforms/scale.hpp>    // schedule
#include <tokamax/optim/tree.hpp>                // vdot

namespace tokamax::optim {

template <class Params>
struct prodigy_state {
  array count = zeros({}, i32);  ///< updates so far
  Params mu{}, nu{}, grad_sum{};
  Params first{};              ///< the parameters before the first update
  array estimate = zeros({});  ///< of the distance to the solution
  array numerator = zeros({});
};

template <class Schedule = schedule>
struct prodigy_options {
  Schedule learning_rate = 1.0;
  array b1 = 0.9, b2 = 0.999;
  array b3{};  ///< none: the root of b2
  double eps = 1e-8, estim_lr0 = 1e-6;
  array estim_lr_coef = 1.0, weight_decay = 0.0;
  bool safeguard_warmup = false;
};

/// Adam with the step size a = d rate sqrt(1 - b2^t) / (1 - b1^t), where d is an estimate of the distance of the first
/// parameters p0 from the solution. With averages mu and nu of d g, sums s = b3 s + a d g / d0 and
/// r = b3 r + d a <g, p0 - p> / d0:
///
///   d = max(d, coef r / |s|_1),  u = -a mu / (sqrt(nu) + d eps) - weight_decay a p
///
/// dtypes  state of leaves of 16 bits is f32
/// source  optax.contrib.prodigy; Mishchenko, Defazio 2023, arXiv:2306.06101
template <class Schedule = schedule>
struct prodigy_transform {
  prodigy_options<Schedule> o;

  template <class Params>
  constexpr prodigy_state<Params> init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    return {zeros({}, i32), start, start, start, widened(start, params), full({}, o.estim_lr0), zeros({})};
  }
  template <class Params>
  constexpr std::pair<Params, prodigy_state<Params>> update(const Params& g, const prodigy_state<Params>& s,
                                                            const Params& params) const {
    const array count = incremented(s.count), t = astype(count, f32), d = s.estimate;
    array b3 = o.b3, weight = d / o.estim_lr0;
    if (!o.b3.exists()) b3 = sqrt(astype(o.b2, f32));
    const array a = d * o.learning_rate.at(s.count) * (sqrt(detail::share(o.b2, t)) / detail::share(o.b1, t));
    const Params wide = widened(s.mu, g), now = widened(s.mu, params);
    const Params dg = tree::scale(d, wide), mu = detail::moved(o.b1, s.mu, dg),
                 nu = detail::moved_squares(o.b2, s.nu, dg);
    if (!o.safeguard_warmup) weight = a / o.estim_lr0;
    auto add = [&](const array& sum, const array& x) { return b3 * sum + weight * x; };
    const Params grad_sum = map_floating(add, s.grad_sum, dg);
    const array numerator = b3 * s.numerator + d / o.estim_lr0 * a * tree::vdot(wide, tree::sub(s.first, now));
    const array estimate = maximum(d, o.estim_lr_coef * numerator / tree::norm(grad_sum, tree::order::one));
    auto step = [&](const array& x, const array& m, const array& n, const array& p) {
      return astype(-1.0 * o.weight_decay * a * p - a * m / (sqrt(n) + estimate * o.eps), x.dtype());
    };
    return {map_floating(step, g, mu, nu, now), {count, mu, nu, grad_sum, s.first, estimate, numerator}};
  }

 private:
  /// `tree` in the dtypes of a state.
  template <class Params>
  static constexpr Params widened(const Params& like, const Params& tree) {
    return map_floating([](const array& l, const array& x) { return astype(x, l.dtype()); }, like, tree);
  }
};
template <class Schedule = schedule>
constexpr prodigy_transform<Schedule> prodigy(const prodigy_options<Schedule>& o = {}) {
  return {o};
}

}  // namespace tokamax::optim
