// tokamax/optim/parameter_free/cocob.hpp: steps that are bets on coins, and have no learning rate.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/parameter_free/parameter_free.cpp
#pragma once

#include <tokamax/optim/transforms/scale.hpp>  // scale_by_learning_rate, add_decayed_weights
#include <tokamax/optim/tree.hpp>              // sub

namespace tokamax::optim {

template <class Params>
struct cocob_state {
  Params first{};    ///< the parameters before the first update
  Params sum{};      ///< of negative gradients
  Params largest{};  ///< the largest size of a gradient
  Params sizes{};    ///< the sum of sizes
  Params reward{};
};

/// With the greatest |g|, L, the sum G of |g|, that of -g, C, and the reward R = max(R - g (p - p0), 0), element by element:
///
///   p + u = p0 + C / (L max(G + L, alpha L)) (L + R)
///
/// dtypes  state of leaves of 16 bits is f32
/// source  optax.contrib.scale_by_cocob; Orabona, Tommasi 2017, arXiv:1705.07795
struct scale_by_cocob {
  array alpha = 100.0;
  double eps = 1e-8;

  template <class Params>
  constexpr cocob_state<Params> init(const Params& params) const {
    const Params none = for_averages(zeros_like(params));
    const Params first =
        map_floating([](const array& z, const array& p) { return astype(p, z.dtype()); }, none, params);
    return {first, none, map_floating([this](const array& z) { return full(z.shape(), eps, z.dtype()); }, none), none,
            none};
  }
  template <class Params>
  constexpr std::pair<Params, cocob_state<Params>> update(const Params& g, const cocob_state<Params>& s,
                                                          const Params& params) const {
    auto wide = [](const array& z, const array& x) { return astype(x, z.dtype()); };
    const Params now = map_floating(wide, s.sum, g), at = map_floating(wide, s.sum, params);
    const Params largest =
        map_floating([](const array& l, const array& x) { return maximum(l, abs(x)); }, s.largest, now);
    const Params sizes = map_floating([](const array& n, const array& x) { return n + abs(x); }, s.sizes, now);
    auto earn = [](const array& r, const array& x, const array& p, const array& p0) {
      return maximum(r - x * (p - p0), zeros_like(r));
    };
    const Params reward = map_floating(earn, s.reward, now, at, s.first), sum = tree::sub(s.sum, now);
    auto bet = [this](const array& x, const array& p, const array& p0, const array& c, const array& l, const array& n,
                      const array& r) {
      return astype(-p + (p0 + c / (l * maximum(n + l, alpha * l)) * (l + r)), x.dtype());
    };
    return {map_floating(bet, g, at, s.first, sum, largest, sizes, reward), {s.first, sum, largest, sizes, reward}};
  }
};

template <class Schedule = schedule, class Mask = mask>
struct cocob_options {
  Schedule learning_rate = 1.0;
  array alpha = 100.0;
  double eps = 1e-8;
  array weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// source  optax.contrib.cocob
template <class Options = cocob_options<>>
constexpr auto cocob(const Options& o) {
  return chain(add_decayed_weights{o.weight_decay, o.only}, scale_by_learning_rate{o.learning_rate, false},
               scale_by_cocob{o.alpha, o.eps});
}

}  // namespace tokamax::optim
