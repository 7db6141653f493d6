// tokamax/optim/wrappers/schedule_free.hpp: averages of parameters in place of a schedule.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/wrappers/wrappers.cpp
#pragma once

#include <tokamax/optim/adaptive/rmsprop.hpp>  // scale_by_rms
#include <tokamax/optim/transforms/scale.hpp>  // add_decayed_weights, scale_by_learning_rate
#include <tokamax/optim/tree.hpp>              // cast

namespace tokamax::optim {

template <class Params, class Inner>
struct schedule_free_state {
  array step_count = ones({}, i32);  ///< the number of the next update, from 1
  array weight_sum = zeros({});
  array max_lr = zeros({});  ///< the largest rate so far
  Params z{};                ///< the parameters that `inner` updates
  Inner inner{};
};

/// Gradients are taken at y = (1 - b1) z + b1 x. `inner` updates z, and x is the average of z with the weights of
/// the largest rates so far to the power weight_lr_power. The parameters are y; evaluate at x, which
/// `schedule_free_eval_params` gives.
/// source  optax.contrib.schedule_free; Defazio et al. 2024, arXiv:2405.15682
template <class Inner, class Schedule>
struct schedule_free_transform {
  Inner inner;
  Schedule learning_rate;
  array b1 = 0.9, weight_lr_power = 2.0;
  dtype state_dtype = dtype::none;

  template <class Params>
  constexpr auto init(const Params& params) const {
    auto state = inner.init(params);
    Params z = parameters_of(params);
    if (state_dtype != dtype::none) z = tree::cast(z, state_dtype);
    return schedule_free_state<Params, decltype(state)>{ones({}, i32), zeros({}), zeros({}), z, std::move(state)};
  }
  template <class Params, class State, class Extra = nothing_extra>
  constexpr std::pair<Params, schedule_free_state<Params, State>> update(const Params& g,
                                                                         const schedule_free_state<Params, State>& s,
                                                                         const Params& params,
                                                                         const Extra& extra = {}) const {
    const array rate = maximum(s.max_lr, astype(learning_rate(s.step_count), f32));
    const array weight = power(rate, astype(weight_lr_power, f32)), total = s.weight_sum + weight;
    const array share = select(total == 0, zeros_like(total), weight / total);
    auto [changed, next] = update_with(inner, g, s.inner, params, extra);
    const Params z =
        map_floating([](const array& a, const array& u) { return astype(a + u, a.dtype()); }, s.z, changed);
    auto step = [&](const array& y, const array& before, const array& now) {
      const array x = (y - detail::rest(b1) * before) / b1, average = (1.0 - share) * x + share * now;
      return astype(b1 * average + detail::rest(b1) * now - y, y.dtype());
    };
    return {map_floating(step, params, s.z, z), {incremented(s.step_count), total, rate, z, std::move(next)}};
  }
};
template <class Inner, class Schedule>
constexpr auto schedule_free(Inner inner, const Schedule& learning_rate, const array& b1 = 0.9,
                             const array& weight_lr_power = 2.0, dtype state_dtype = dtype::none) {
  return schedule_free_transform<Inner, schedule_of<Schedule>>{std::move(inner), learning_rate, b1, weight_lr_power,
                                                               state_dtype};
}
/// The averages x, at which a model is evaluated: (y - (1 - b1) z) / b1.
/// source  optax.contrib.schedule_free_eval_params
template <class Params, class Inner>
constexpr Params schedule_free_eval_params(const schedule_free_state<Params, Inner>& s, const Params& params,
                                           const array& b1 = 0.9) {
  auto average = [&](const array& y, const array& z) { return astype((y - detail::rest(b1) * z) / b1, y.dtype()); };
  return map_floating(average, params, s.z);
}

struct schedule_free_options {
  double learning_rate = 1;
  std::int64_t warmup_steps = 0;
  array b1 = 0.9, b2 = 0.999, eps = 1e-8, weight_decay = 0.0, weight_lr_power = 2.0;
  dtype state_dtype = dtype::none;
};
namespace detail {
constexpr schedule after_warmup(const schedule_free_options& o) {
  if (o.warmup_steps <= 0) return o.learning_rate;
  return linear(0, o.learning_rate, o.warmup_steps);
}
}  // namespace detail
/// Gradient descent, and AdamW without an average of gradients, as inner optimisers.
/// source  optax.contrib.schedule_free_sgd, schedule_free_adamw
constexpr auto schedule_free_sgd(const schedule_free_options& o = {}) {
  const schedule rate = detail::after_warmup(o);
  return schedule_free(chain(add_decayed_weights{o.weight_decay}, scale_by_learning_rate{rate}), rate, o.b1,
                       o.weight_lr_power, o.state_dtype);
}
constexpr auto schedule_free_adamw(const schedule_free_options& o = {.learning_rate = 0.0025}) {
  const schedule rate = detail::after_warmup(o);
  return schedule_free(chain(scale_by_rms{o.b2, o.eps, 0, false, true}, add_decayed_weights{o.weight_decay},
                             scale_by_learning_rate{rate}),
                       rate, o.b1, o.weight_lr_power, o.state_dtype);
}

}  // namespace tokamax::optim
