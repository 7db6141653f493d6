// tokamax/optim/scale.hpp: multiply updates, by a number or by the learning rate of the step, and add weight decay.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/optim/schedule.hpp>   // schedule
#include <tokamax/optim/transform.hpp>  // map_floating

namespace tokamax::optim {

/// Leaves updates alone.
struct identity {
  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, empty_state> update(Updates u, empty_state s, const Params&) const {
    return {std::move(u), s};
  }
};

/// updates * factor.
/// source  optax.scale
struct scale {
  double factor = 1;

  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, empty_state> update(const Updates& updates, empty_state s, const Params&) const {
    return {map_floating([this](const array& u) { return u * factor; }, updates), s};
  }
};

namespace detail {
/// updates *= factor, in the dtypes of the updates.
template <class Updates>
constexpr void scale_by(Updates& updates, const array& factor) {
  update_floating([&](const array& u) { return u * astype(factor, u.dtype()); }, updates);
}
}  // namespace detail

/// The number of updates so far.
struct step_count {
  array count = zeros({}, i32);
};

/// updates * factor(step), the first step being 0.
/// source  optax.scale_by_schedule
struct scale_by_schedule {
  schedule factor;

  template <class Params>
  constexpr step_count init(const Params&) const {
    return {};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, step_count> update(const Updates& updates, const step_count& s, const Params&) const {
    Updates scaled = updates;
    detail::scale_by(scaled, factor(s.count));
    return {scaled, {incremented(s.count)}};
  }
};

/// updates * -rate(step): the last member of an optimiser.
/// source  optax.scale_by_learning_rate
struct scale_by_learning_rate {
  schedule rate;

  template <class Params>
  constexpr step_count init(const Params&) const {
    return {};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, step_count> update(const Updates& updates, const step_count& s, const Params&) const {
    Updates scaled = updates;
    detail::scale_by(scaled, rate(s.count) * -1.0);
    return {scaled, {incremented(s.count)}};
  }
};

/// Which parameters a transform is for; a captureless lambda is one.
using mask = bool (*)(const array&);
constexpr bool everything(const array&) { return true; }
/// Kernels and embeddings, but not biases and scales.
constexpr bool matrices(const array& p) { return p.rank() >= 2; }

/// updates + weight_decay * params, where `only(param)`.
/// source  optax.add_decayed_weights
struct add_decayed_weights {
  double weight_decay = 0;
  mask only = everything;

  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Params>
  constexpr std::pair<Params, empty_state> update(const Params& updates, empty_state s, const Params& params) const {
    auto add = [this](const array& u, const array& p) {
      if (!only(p)) return u;
      return u + weight_decay * p;
    };
    return {map_floating(add, updates, params), s};
  }
};

}  // namespace tokamax::optim
