// tokamax/optim/adaptive/mars.hpp: gradients with less variance, by the difference to those of the last step.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/beyond_optax.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>           // sum
#include <tokamax/optim/adaptive/adam.hpp>  // scale_by_adam

namespace tokamax::optim {

template <class Params>
struct mars_state {
  array count = zeros({}, i32);  ///< updates so far
  Params gradient{};             ///< of the last call
};

/// c = g + gamma b1 / (1 - b1) (g - g'), where g' is the last gradient, or g in the first call; then c / max(1, |c| / max_norm),
/// leaf by leaf. Any transform may follow: scale_by_adam, scale_by_lion or scale_by_muon make MARS-AdamW, -Lion and -Shampoo.
/// dtypes  the last gradients of leaves of 16 bits are f32
/// source  Yuan et al. 2024, arXiv:2411.10438, algorithm 2, which takes the gradient of the last batch at the last parameters
struct scale_by_mars {
  array gamma = 0.025, b1 = 0.95;
  double max_norm = 1;

  template <class Params>
  constexpr mars_state<Params> init(const Params& params) const {
    return {zeros({}, i32), for_averages(zeros_like(params))};
  }
  template <class Params>
  constexpr std::pair<Params, mars_state<Params>> update(const Params& g, const mars_state<Params>& s,
                                                         const Params&) const {
    const array later = s.count > 0;
    const array ahead = gamma * detail::of_number([](const auto& b) { return b / (1.0 - b); }, b1);
    auto correct = [&](const array& x, const array& before) {
      const array wide = astype(x, before.dtype());
      const array c = wide + astype(ahead, wide.dtype()) * select(later, wide - before, zeros_like(wide));
      return astype(c / maximum(sqrt(sum(c * c)) / max_norm, array(1.0)), x.dtype());
    };
    auto keep = [](const array& before, const array& x) { return astype(x, before.dtype()); };
    return {map_floating(correct, g, s.gradient), {incremented(s.count), map_floating(keep, s.gradient, g)}};
  }
};

template <class Schedule = schedule, class Mask = mask>
struct mars_options {
  Schedule learning_rate;
  array gamma = 0.025, b1 = 0.95, b2 = 0.99, eps = 1e-8;
  double max_norm = 1;
  array weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// MARS-AdamW.
template <class Options = mars_options<>>
constexpr auto mars(const Options& o) {
  return chain(scale_by_mars{o.gamma, o.b1, o.max_norm}, scale_by_adam{.b1 = o.b1, .b2 = o.b2, .eps = o.eps},
               add_decayed_weights{o.weight_decay, o.only}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
