// tokamax/optim/parameter_free/polyak.hpp: gradient descent with the step size of Polyak, which the loss and its minimum give.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/parameter_free/parameter_free.cpp
#pragma once

#include <tokamax/optim/transforms/scale.hpp>  // scale_by_learning_rate
#include <tokamax/optim/tree.hpp>              // vdot

namespace tokamax::optim {

/// u * min((extra.value - f_min) / (|u|^2 + eps), max_learning_rate), and 0 where |u|^2 + eps is at most 2.2e-16. With
/// `positive` a value below f_min counts as f_min.
/// source  optax.scale_by_polyak, of variant sps, or sps+ with `positive`; Loizou et al. 2021, arXiv:2002.10542
struct scale_by_polyak {
  array f_min = 0.0, max_learning_rate = 1.0, eps = 0.0;
  bool positive = false;

  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Updates, class Params, class Extra>
  constexpr std::pair<Updates, empty_state> update(const Updates& updates, empty_state s, const Params&,
                                                   const Extra& extra) const {
    static_assert(requires { extra.value; }, "tokamax: scale_by_polyak: update needs extra.value, the loss");
    const array square = tree::vdot(updates, updates) + eps;
    array gap = astype(extra.value, square.dtype()) - f_min;
    if (positive) gap = maximum(gap, zeros_like(gap));
    const array size = minimum(gap / square, astype(max_learning_rate, square.dtype()));
    return {tree::scale(select(square <= 2.220446049250313e-16, zeros_like(size), size), updates), s};
  }
};

template <class Schedule = schedule>
struct polyak_sgd_options {
  array max_learning_rate = 1.0;
  Schedule scaling = 1.0;
  array f_min = 0.0, eps = 0.0;
  bool positive = false;
};
/// Gradient descent; `update` takes the loss as `extra.value`.
/// source  optax.polyak_sgd
template <class Options = polyak_sgd_options<>>
constexpr auto polyak_sgd(const Options& o) {
  return chain(scale_by_learning_rate{o.scaling}, scale_by_polyak{o.f_min, o.max_learning_rate, o.eps, o.positive});
}

}  // namespace tokamax::optim
