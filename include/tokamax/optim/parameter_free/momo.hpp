// tokamax/optim/parameter_free/momo.hpp: momentum whose step size follows from the loss and a lower bound of it.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/parameter_free/parameter_free.cpp
#pragma once

#include <tokamax/optim/transforms/moments.hpp>  // moved, share
#include <tokamax/optim/transforms/scale.hpp>    // schedule
#include <tokamax/optim/tree.hpp>                // vdot

namespace tokamax::optim {

template <class Params>
struct momo_state {
  array count = zeros({}, i32);  ///< updates so far
  Params mu{}, nu{};             ///< averages of gradients and of their squares; momo has no squares
  array loss = zeros({});        ///< the average of losses
  array product = zeros({});     ///< the average of <g, p>
  array lower = zeros({});       ///< the bound of the loss
};

template <class Schedule = schedule>
struct momo_options {
  Schedule learning_rate = 1.0;
  array b1 = 0.9;
  array b2 = 0.999, eps = 1e-8;  ///< of momo_adam
  double lower_bound = 0;
  array weight_decay = 0.0;
  bool adapt_lower_bound = false;  ///< raise the bound as the losses show
};

/// With averages m of g, f of the loss `extra.value` and c of <g, p>, the rate a, k = 1 + a weight_decay, and the bound l:
///
///   tau = min(a, max(k (f - l - c) + <m, p>, 0) / <m, m>),  u = -tau m - a weight_decay / k p
///
/// momo_adam divides m by eps + sqrt(nu / (1 - b2^t)), and corrects m and f for starting at 0.
///
/// dtypes  state of leaves of 16 bits is f32
/// source  optax.contrib.momo, momo_adam; Schaipp et al. 2023, arXiv:2305.07583
template <bool Adam, class Schedule>
struct momo_transform {
  momo_options<Schedule> o;

  template <class Params>
  constexpr momo_state<Params> init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    Params squares = nothing_like(params);
    if constexpr (Adam) squares = start;
    return {zeros({}, i32), start, squares, zeros({}), zeros({}), full({}, o.lower_bound)};
  }
  template <class Params, class Extra>
  constexpr std::pair<Params, momo_state<Params>> update(const Params& g, const momo_state<Params>& s,
                                                         const Params& params, const Extra& extra) const {
    static_assert(requires { extra.value; }, "tokamax: momo: update needs extra.value, the loss");
    const array count = incremented(s.count), t = astype(count, f32);
    array b1 = o.b1, corrects = ones({});
    if constexpr (Adam)
      corrects = detail::share(b1, t);
    else
      b1 = select(s.count == 0, zeros({}), astype(b1, f32));
    const array loss = detail::averaged(b1, astype(extra.value, f32), s.loss);
    const array product = detail::averaged(b1, tree::vdot(g, params), s.product);
    const Params mu = detail::moved(b1, s.mu, g);
    Params nu = s.nu, divided = mu;
    if constexpr (Adam) {
      nu = detail::moved_squares(o.b2, s.nu, g);
      const array of_nu = detail::share(o.b2, t);
      auto divide = [&](const array& m, const array& n) { return m / (o.eps + sqrt(detail::corrected(n, of_nu))); };
      divided = map_floating(divide, mu, nu);
    }
    const array square = tree::vdot(mu, divided), inner = tree::vdot(mu, params);
    const array a = o.learning_rate(s.count), k = 1.0 + a * o.weight_decay, least = full({}, o.lower_bound);
    array lower = s.lower;
    if (o.adapt_lower_bound) {
      const array cap = k * (loss - product) + inner;
      lower = select(cap < k * corrects * lower, maximum(cap / (2.0 * corrects * k), least), lower);
    }
    const array full_step = maximum(k * (loss - corrects * lower - product) + inner, zeros({})) / square;
    const array tau = minimum(a / corrects, select(square <= 2.220446049250313e-16, zeros({}), full_step));
    auto step = [&](const array& x, const array& m, const array& p) {
      return astype(-1.0 * (a * o.weight_decay) / k * astype(p, m.dtype()) - tau * m, x.dtype());
    };
    array next = s.lower;
    if (o.adapt_lower_bound) next = maximum(((loss + inner - product) - 0.5 * tau * square) / corrects, least);
    return {map_floating(step, g, divided, params), {count, mu, nu, loss, product, next}};
  }
};
template <class Schedule = schedule>
constexpr momo_transform<false, Schedule> momo(const momo_options<Schedule>& o = {}) {
  return {o};
}
/// Its learning rate is 0.01 in Optax.
template <class Schedule = schedule>
constexpr momo_transform<true, Schedule> momo_adam(const momo_options<Schedule>& o = {.learning_rate = 0.01}) {
  return {o};
}

}  // namespace tokamax::optim
