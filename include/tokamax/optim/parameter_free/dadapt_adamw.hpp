// tokamax/optim/parameter_free/dadapt_adamw.hpp: AdamW that finds its learning rate.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/parameter_free/parameter_free.cpp
#pragma once

#include <tokamax/optim/transforms/moments.hpp>  // share, rest
#include <tokamax/optim/transforms/scale.hpp>    // schedule
#include <tokamax/optim/tree.hpp>                // vdot

namespace tokamax::optim {

template <class Params>
struct dadapt_state {
  array count = zeros({}, i32);  ///< updates so far
  Params mu{}, nu{}, grad_sum{};
  array estimate = zeros({});  ///< of the distance to the solution
  array numerator = zeros({});
};

template <class Schedule = schedule>
struct dadapt_adamw_options {
  Schedule learning_rate = 1.0;
  array b1 = 0.9, b2 = 0.999, eps = 1e-8;
  double estim_lr0 = 1e-6;
  array weight_decay = 0.0;
};

/// With a = d rate sqrt(1 - b2^t) / (1 - b1^t), b = sqrt(b2), the average mu of a g, that of squares nu, the average
/// s with b of a g, and that of a <g, s / (sqrt(nu) + eps)>, r, for the s and nu of the last step:
///
///   d = max(d, r / ((1 - b) |s|_1)),  u = -mu / (sqrt(nu) + eps) - weight_decay a p
///
/// dtypes  state of leaves of 16 bits is f32
/// source  optax.contrib.dadapt_adamw; Defazio, Mishchenko 2023, arXiv:2301.07733
template <class Schedule = schedule>
struct dadapt_adamw_transform {
  dadapt_adamw_options<Schedule> o;

  template <class Params>
  constexpr dadapt_state<Params> init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    return {zeros({}, i32), start, start, start, full({}, o.estim_lr0), zeros({})};
  }
  template <class Params>
  constexpr std::pair<Params, dadapt_state<Params>> update(const Params& g, const dadapt_state<Params>& s,
                                                           const Params& params) const {
    const array count = incremented(s.count), t = astype(count, f32);
    const array a = s.estimate * o.learning_rate.at(s.count) * (sqrt(detail::share(o.b2, t)) / detail::share(o.b1, t));
    const array b = detail::of_number([](const auto& d) { return detail::root(d); }, o.b2), rest = detail::rest(b);
    auto divide = [this](const array& x, const array& n) { return x / (sqrt(n) + o.eps); };
    const Params wide = map_floating([](const array& m, const array& x) { return astype(x, m.dtype()); }, s.mu, g);
    const array product = tree::vdot(wide, map_floating(divide, s.grad_sum, s.nu));
    const Params mu = detail::moved(o.b1, s.mu, tree::scale(a, wide)), nu = detail::moved_squares(o.b2, s.nu, wide);
    auto add = [&](const array& sum, const array& x) { return b * sum + rest * a * x; };
    const Params grad_sum = map_floating(add, s.grad_sum, wide);
    const array numerator = b * s.numerator + rest * a * product;
    const array estimate = maximum(s.estimate, numerator / (rest * tree::norm(grad_sum, tree::order::one)));
    auto step = [&](const array& x, const array& m, const array& n, const array& p) {
      return astype(-1.0 * o.weight_decay * a * astype(p, m.dtype()) - divide(m, n), x.dtype());
    };
    return {map_floating(step, g, mu, nu, params), {count, mu, nu, grad_sum, estimate, numerator}};
  }
};
template <class Schedule = schedule>
constexpr dadapt_adamw_transform<Schedule> dadapt_adamw(const dadapt_adamw_options<Schedule>& o = {}) {
  return {o};
}

}  // namespace tokamax::optim
