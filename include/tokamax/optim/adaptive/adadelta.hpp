// tokamax/optim/adaptive/adadelta.hpp: steps whose size is that of earlier steps.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/adaptive/averages.cpp
#pragma once

#include <tokamax/optim/transforms/moments.hpp>  // moved_squares
#include <tokamax/optim/transforms/scale.hpp>    // scale_by_learning_rate, add_decayed_weights

namespace tokamax::optim {

template <class Params>
struct adadelta_state {
  Params squares{};  ///< averages of squares of gradients
  Params steps{};    ///< averages of squares of updates
};

/// n = rho n + (1 - rho) g^2, u = sqrt(s + eps) / sqrt(n + eps) g, then s = rho s + (1 - rho) u^2.
/// dtypes  averages of leaves of 16 bits are f32
/// source  optax.scale_by_adadelta; Zeiler 2012, arXiv:1212.5701
struct scale_by_adadelta {
  array rho = 0.9;
  array eps = 1e-6;

  template <class Params>
  constexpr adadelta_state<Params> init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    return {start, start};
  }
  template <class Params>
  constexpr std::pair<Params, adadelta_state<Params>> update(const Params& g, const adadelta_state<Params>& s,
                                                             const Params&) const {
    const Params n = detail::moved_squares(rho, s.squares, g);
    auto step = [this](const array& x, const array& a, const array& b) {
      return astype(sqrt(b + eps) / sqrt(a + eps) * astype(x, a.dtype()), x.dtype());
    };
    const Params u = map_floating(step, g, n, s.steps);
    return {u, {n, detail::moved_squares(rho, s.steps, u)}};
  }
};

template <class Schedule = schedule, class Mask = mask>
struct adadelta_options {
  Schedule learning_rate = 1.0;
  array rho = 0.9, eps = 1e-6, weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// source  optax.adadelta
template <class Options = adadelta_options<>>
constexpr auto adadelta(const Options& o) {
  return chain(add_decayed_weights{o.weight_decay, o.only}, scale_by_adadelta{o.rho, o.eps},
               scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
