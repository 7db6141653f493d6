// tokamax/optim/lion.hpp: steps by the sign of an average gradient.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/optim/moments.hpp>  // averaged, moved
#include <tokamax/optim/scale.hpp>    // scale_by_learning_rate, add_decayed_weights

namespace tokamax::optim {

template <class Params>
struct lion_state {
  Params mu{};
};

/// u = sign(b1 mu + (1 - b1) g), then mu = b2 mu + (1 - b2) g.
/// source  optax.scale_by_lion; Chen et al. 2023, arXiv:2302.06675
struct scale_by_lion {
  double b1 = 0.9, b2 = 0.99;

  template <class Params>
  constexpr lion_state<Params> init(const Params& params) const {
    return {zeros_like(params)};
  }
  template <class Params>
  constexpr std::pair<Params, lion_state<Params>> update(const Params& g, const lion_state<Params>& s,
                                                         const Params&) const {
    return {map_floating([&](const array& x, const array& m) { return sign(detail::averaged(b1, x, m)); }, g, s.mu),
            {detail::moved(b2, s.mu, g)}};
  }
};

template <class Schedule = schedule, class Mask = mask>
struct lion_options {
  Schedule learning_rate;
  double b1 = 0.9, b2 = 0.99, weight_decay = 1e-3;
  Mask only = everything;
};
/// source  optax.lion
template <class Options = lion_options<>>
constexpr auto lion(const Options& o) {
  return chain(scale_by_lion{o.b1, o.b2}, add_decayed_weights{o.weight_decay, o.only},
               scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
