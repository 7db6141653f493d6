// tokamax/optim/descent/rprop.hpp: steps that grow while a gradient keeps its sign.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/descent/first_order.cpp
#pragma once

#include <tokamax/numpy/clip.hpp>              // clip
#include <tokamax/optim/transforms/scale.hpp>  // scale

namespace tokamax::optim {

template <class Params>
struct rprop_state {
  Params step_sizes{};
  Params before{};  ///< the last steps
};

/// A step size of each element is multiplied by eta_plus where g has the sign of the last update, and by eta_minus where it
/// has the other one, inside bounds. A step is sign(g) times the size, and 0 where the sign has changed. As in Optax, an update is
/// the step of the call before, unless the sign has changed since.
/// source  optax.scale_by_rprop; Riedmiller, Braun 1993
struct scale_by_rprop {
  double learning_rate;  ///< the first step size
  array eta_minus = 0.5, eta_plus = 1.2, min_step_size = 1e-6, max_step_size = 50.0;

  template <class Params>
  constexpr rprop_state<Params> init(const Params& params) const {
    const Params start = zeros_like(params);
    return {map_floating([this](const array& p) { return full(p.shape(), learning_rate, p.dtype()); }, start), start};
  }
  template <class Params>
  constexpr std::pair<Params, rprop_state<Params>> update(const Params& g, const rprop_state<Params>& s,
                                                          const Params&) const {
    auto grow = [this](const array& size, const array& x, const array& b) {
      const array same = x * b, factor = select(same > 0, astype(eta_plus, x.dtype()), astype(eta_minus, x.dtype()));
      return select(same == 0, size, clip(size * factor, min_step_size, max_step_size));
    };
    const Params sizes = map_floating(grow, s.step_sizes, g, s.before);
    auto step = [](const array& b, const array& x, const array& size) {
      return select(x * b < 0, zeros_like(x), size * sign(x));
    };
    const Params steps = map_floating(step, s.before, g, sizes);
    auto late = [](const array& b, const array& x) { return select(x * b < 0, zeros_like(b), b); };
    return {map_floating(late, s.before, g), {sizes, steps}};
  }
};

struct rprop_options {
  double learning_rate = 0;
  array eta_minus = 0.5, eta_plus = 1.2, min_step_size = 1e-6, max_step_size = 50.0;
};
/// source  optax.rprop
constexpr auto rprop(const rprop_options& o) {
  return chain(scale_by_rprop{o.learning_rate, o.eta_minus, o.eta_plus, o.min_step_size, o.max_step_size}, scale{-1.0});
}

}  // namespace tokamax::optim
