// tokamax/optim/descent/lion.hpp: steps by the sign of an average gradient.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/optim/transforms/moments.hpp>  // averaged, moved
#include <tokamax/optim/transforms/scale.hpp>    // scale_by_learning_rate, add_decayed_weights

namespace tokamax::optim {

template <class Params>
struct lion_state {
  Params mu{};
};

/// How an average becomes an update: its sign, tanh(smooth_beta x), or x inside [-1, 1] and its sign outside.
enum class lion_mode { hard, smooth, refined };

/// u = sign(b1 mu + (1 - b1) g), then mu = b2 mu + (1 - b2) g.
/// source  optax.scale_by_lion; Chen et al. 2023, arXiv:2302.06675
struct scale_by_lion {
  array b1 = 0.9, b2 = 0.99;
  dtype mu_dtype = dtype::none;  ///< in which mu is kept; none: that of the parameter
  lion_mode mode = lion_mode::hard;
  double smooth_beta = 1;

  template <class Params>
  constexpr lion_state<Params> init(const Params& params) const {
    return {detail::kept(zeros_like(params), mu_dtype)};
  }
  template <class Params>
  constexpr std::pair<Params, lion_state<Params>> update(const Params& g, const lion_state<Params>& s,
                                                         const Params&) const {
    const Params mu = detail::widened(s.mu, mu_dtype);
    auto step = [&](const array& x, const array& m) {
      return astype(direction(detail::averaged(b1, x, m)), x.dtype());
    };
    return {map_floating(step, g, mu), {detail::kept(detail::moved(b2, mu, g), mu_dtype)}};
  }

 private:
  constexpr array direction(const array& x) const {
    if (mode == lion_mode::smooth) return tanh(smooth_beta * x);
    if (mode == lion_mode::refined) return select(abs(x) < 1.0, x, sign(x));
    return sign(x);
  }
};

template <class Schedule = schedule, class Mask = mask>
struct lion_options {
  Schedule learning_rate;
  array b1 = 0.9, b2 = 0.99, weight_decay = 1e-3;
  Mask only = everything;
  dtype mu_dtype = dtype::none;
};
/// source  optax.lion
template <class Options = lion_options<>>
constexpr auto lion(const Options& o) {
  return chain(scale_by_lion{o.b1, o.b2, o.mu_dtype}, add_decayed_weights{o.weight_decay, o.only},
               scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
