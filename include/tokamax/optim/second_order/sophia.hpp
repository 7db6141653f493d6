// tokamax/optim/second_order/sophia.hpp: steps by an average gradient over an estimate of the curvature.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/second_order/curvature.cpp
#pragma once

#include <tokamax/lax/elementwise/division.hpp>      // rem
#include <tokamax/numpy/clip.hpp>                    // clip
#include <tokamax/optim/transforms/moments.hpp>      // moved
#include <tokamax/optim/transforms/scale.hpp>        // scale_by_learning_rate, add_decayed_weights
#include <tokamax/optim/tree.hpp>                    // random_like
#include <tokamax/random/distributions.hpp>          // rademacher
#include <tokamax/transforms/control_flow/cond.hpp>  // cond
#include <tokamax/transforms/grad.hpp>               // grad
#include <tokamax/transforms/jvp.hpp>                // jvp

namespace tokamax::optim {

struct hutchinson_state {
  random::key key{};
};

/// An estimate of the diagonal of the Hessian of the function extra.obj_fn(params): s * (H s) with signs s that are drawn
/// anew in each call.
/// source  optax.contrib.hutchinson_estimator_diag_hessian
struct hutchinson_estimator_diag_hessian {
  std::uint32_t seed = 0;

  template <class Params>
  constexpr hutchinson_state init(const Params&) const {
    return {random::key(seed)};
  }
  template <class Params, class Extra>
  constexpr std::pair<Params, hutchinson_state> update(const Params&, const hutchinson_state& s, const Params& params,
                                                       const Extra& extra) const {
    static_assert(
        requires { extra.obj_fn(params); },
        "tokamax: hutchinson_estimator_diag_hessian: update needs extra.obj_fn, the loss of parameters");
    const auto [kept, mine] = random::split(s.key);
    const auto sign = [](const random::key& k, const shape& extents, dtype type) {
      return random::rademacher(k, extents, type);
    };
    const Params signs = tree::random_like(mine, params, sign);
    const auto slope = grad([&](const Params& p) { return array(extra.obj_fn(p)); });
    const auto [unused, product] = jvp(slope, std::tuple{params}, std::tuple{signs});
    return {tree::mul(product, signs), {kept}};
  }
};

template <class Params, class Estimate>
struct sophia_state {
  array count = zeros({}, i32);  ///< updates so far
  Params mu{}, nu{};             ///< averages of gradients and of the diagonal
  Estimate estimate{};
};

/// mu / (1 - b1^t) / max(gamma nu, eps), kept within [-clip_threshold, clip_threshold]. Each `update_interval`th call
/// averages a new estimate of the diagonal into nu.
/// dtypes  averages of leaves of 16 bits are f32
/// source  optax.contrib.scale_by_sophia; Liu et al. 2023, arXiv:2305.14342
template <class Diagonal = hutchinson_estimator_diag_hessian>
struct scale_by_sophia {
  array b1 = 0.965, b2 = 0.99, eps = 1e-8, gamma = 0.01;
  double clip_threshold = 1;  ///< infinity: none
  int update_interval = 10;
  Diagonal diagonal{};

  template <class Params>
  constexpr auto init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    auto estimate = diagonal.init(params);
    return sophia_state<Params, decltype(estimate)>{zeros({}, i32), start, start, std::move(estimate)};
  }
  template <class Params, class Estimate, class Extra>
  constexpr std::pair<Params, sophia_state<Params, Estimate>> update(const Params& g,
                                                                     const sophia_state<Params, Estimate>& s,
                                                                     const Params& params, const Extra& extra) const {
    const array count = incremented(s.count), share = detail::share(b1, astype(count, f32));
    const Params mu = detail::moved(b1, s.mu, g);
    auto step = [&](const array& x, const array& m, const array& h) {
      const array u = detail::corrected(m, share) / maximum(gamma * h, eps);
      return astype(clip(u, -clip_threshold, clip_threshold), x.dtype());
    };
    using pair = std::pair<Estimate, Params>;
    const auto look = [&](const Params& given, const Estimate& before, const Params& nu, const Params& p) -> pair {
      auto [found, next] = update_with(diagonal, given, before, p, extra);
      return {std::move(next), detail::moved(b2, nu, found)};
    };
    const auto wait = [](const Params&, const Estimate& before, const Params& nu, const Params&) -> pair {
      return {before, nu};
    };
    auto [estimate, nu] = cond(rem(s.count, array(update_interval)) == 0, look, wait, g, s.estimate, s.nu, params);
    return {map_floating(step, g, mu, s.nu), {count, mu, std::move(nu), std::move(estimate)}};
  }
};

template <class Schedule = schedule, class Mask = mask, class Diagonal = hutchinson_estimator_diag_hessian>
struct sophia_options {
  Schedule learning_rate;
  array b1 = 0.965, b2 = 0.99, eps = 1e-8, weight_decay = 1e-4;
  Mask only = everything;  ///< the parameters that decay
  array gamma = 0.01;
  double clip_threshold = 1;
  int update_interval = 10;
  Diagonal diagonal{};
};
/// source  optax.contrib.sophia
template <class Options = sophia_options<>>
constexpr auto sophia(const Options& o) {
  using diagonal = std::remove_cvref_t<decltype(o.diagonal)>;
  return chain(scale_by_sophia<diagonal>{o.b1, o.b2, o.eps, o.gamma, o.clip_threshold, o.update_interval, o.diagonal},
               add_decayed_weights{o.weight_decay, o.only}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
