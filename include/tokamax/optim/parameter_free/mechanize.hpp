// tokamax/optim/parameter_free/mechanize.hpp: a learning rate for any optimiser, found while it runs.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/parameter_free/parameter_free.cpp
#pragma once

#include <tokamax/numpy/clip.hpp>       // clip
#include <tokamax/optim/transform.hpp>  // update_with
#include <tokamax/optim/tree.hpp>       // vdot

#include <vector>  // betas

namespace tokamax::optim {

template <class Params, class Inner>
struct mechanize_state {
  array count = zeros({}, i32);  ///< updates so far
  array r, m, v, s;              ///< for each beta: reward, greatest product, sum of squares and scale: [betas]
  Params first{};                ///< the parameters before the first update
  Inner inner{};
};

/// Scales what `inner` has done since the start, x0 - p, by a sum of learned factors. For each of the betas 0.9, 0.99, ...
/// an online learner bets on the product h of the gradient and the direction so far.
/// source  optax.contrib.mechanize; Cutkosky et al. 2023, arXiv:2306.00144
template <class Inner>
struct mechanize {
  Inner inner;
  double weight_decay = 1e-2, eps = 1e-8, s_init = 1e-6;
  int num_betas = 6;

  template <class Params>
  constexpr auto init(const Params& params) const {
    auto state = inner.init(params);
    const array none = zeros({num_betas});
    return mechanize_state<Params, decltype(state)>{
        zeros({}, i32), none, none, none, full({num_betas}, s_init), parameters_of(params), std::move(state)};
  }
  template <class Params, class State, class Extra = nothing_extra>
  constexpr std::pair<Params, mechanize_state<Params, State>> update(const Params& g,
                                                                     const mechanize_state<Params, State>& s,
                                                                     const Params& params,
                                                                     const Extra& extra = {}) const {
    auto [changed, next] = update_with(inner, g, s.inner, params, extra);
    const Params first = tree::where(s.count != 0, s.first, params);
    const array total = sum(s.s), decay = weight_decay * total * tree::norm(g) / (tree::norm(params) + eps);
    const Params decayed = tree::add_scale(g, decay, params);
    auto behind = [&](const array& x0, const array& p) { return (x0 - p) / astype(total + eps, p.dtype()); };
    const Params before = map_floating(behind, first, params), delta = tree::sub(before, changed);
    const array h = tree::vdot(decayed, before), clipped = clip(broadcast_to(h, {num_betas}), -s.m, s.m), b = betas();
    const array m = maximum(b * s.m, abs(h) + eps), v = b * b * s.v + h * h, r = b * s.r + clipped * s.s;
    const array wealth = s_init / num_betas * m + maximum(r, zeros_like(r)), scales = wealth / (sqrt(v) + eps);
    const array now = sum(scales);
    auto step = [&](const array& p, const array& x0, const array& d) { return x0 - astype(now, d.dtype()) * d - p; };
    return {map_floating(step, params, first, delta), {incremented(s.count), r, m, v, scales, first, std::move(next)}};
  }

 private:
  constexpr array betas() const {
    const array powers = astype(iota(i32, {num_betas}, 0), f32) + 1.0;
    return 1.0 - power(array(0.1, {f32, false, {num_betas}}), powers);
  }
};

}  // namespace tokamax::optim
