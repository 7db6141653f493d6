// tokamax/optim/descent/sign.hpp: steps by the signs of gradients.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/optimisers.cpp
#pragma once

#include <tokamax/optim/transforms/accumulate.hpp>  // ema
#include <tokamax/optim/transforms/scale.hpp>       // scale_by_learning_rate

namespace tokamax::optim {

/// sign(u).
/// source  optax.scale_by_sign; Bernstein et al. 2018, arXiv:1802.04434
struct scale_by_sign {
  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Params>
  constexpr std::pair<Params, empty_state> update(const Params& updates, empty_state s, const Params&) const {
    return {map_floating([](const array& u) { return sign(u); }, updates), s};
  }
};

/// source  optax.sign_sgd
constexpr auto sign_sgd(schedule learning_rate) {
  return chain(scale_by_sign{}, scale_by_learning_rate{learning_rate});
}

template <class Schedule = schedule>
struct signum_options {
  Schedule learning_rate;
  array beta = 0.9;
};
/// Steps by the signs of an average gradient.
/// source  optax.signum
template <class Options = signum_options<>>
constexpr auto signum(const Options& o) {
  return chain(ema{o.beta, false}, scale_by_sign{}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
