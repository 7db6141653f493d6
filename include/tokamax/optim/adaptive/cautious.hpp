// tokamax/optim/adaptive/cautious.hpp: updates that follow the gradient only where both have one sign.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/beyond_optax.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>           // sum
#include <tokamax/optim/adaptive/adam.hpp>  // scale_by_adam, adamw_options

#include <algorithm>  // max

namespace tokamax::optim {

/// With m = [u g > 0] for the update u of `inner` and the gradient g,
///
///   u m / max(mean(m), least)
///
/// leaf by leaf: elements that would move against the gradient stay, and the others make up for them. `inner` has the sign of
/// the gradient, as transforms before the learning rate have: chain(cautious{scale_by_lion{}}, scale_by_learning_rate{1e-4}).
/// source  Liang et al. 2024, arXiv:2411.16085
template <class Inner>
struct cautious {
  Inner inner;
  double least = 1e-3;

  template <class Params>
  constexpr auto init(const Params& params) const {
    return inner.init(params);
  }
  template <class Params, class State, class Extra = nothing_extra>
  constexpr std::pair<Params, State> update(const Params& g, const State& s, const Params& params,
                                            const Extra& extra = {}) const {
    auto [u, next] = update_with(inner, g, s, params, extra);
    auto keep = [this](const array& x, const array& slope) {
      const array wide = astype(x, carrying(x.dtype())), same = astype(wide * slope > 0, wide.dtype());
      const array share = sum(same) / static_cast<double>(std::max<std::int64_t>(x.size(), 1));
      return astype(wide * same / maximum(share, array(least)), x.dtype());
    };
    return {map_floating(keep, u, g), std::move(next)};
  }
};
template <class Inner>
cautious(Inner) -> cautious<Inner>;
template <class Inner>
cautious(Inner, double) -> cautious<Inner>;

/// AdamW whose steps are cautious; its weight decay is not.
template <class Options = adamw_options<>>
constexpr auto cautious_adamw(const Options& o) {
  return chain(cautious{scale_by_adam{o.b1, o.b2, o.eps, o.eps_root, o.nesterov, o.mu_dtype}},
               add_decayed_weights{o.weight_decay, o.only}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
