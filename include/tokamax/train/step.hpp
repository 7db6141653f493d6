// tokamax/train/step.hpp: the training step of a loss and an optimizer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>       // is_stateless
#include <tokamax/train/state.hpp>      // update_with, apply_updates
#include <tokamax/transforms/grad.hpp>  // value_and_grad

#include <type_traits>  // is_same_v
#include <utility>      // pair

namespace tokamax::train {

/// What an optimizer gets in addition to gradients and parameters.
struct step_facts {
  array value;  ///< the loss
};

namespace detail {
template <class Loss, class Optimizer, class State, class... Batch>
constexpr std::pair<State, array> take_step(const Loss& loss, const Optimizer& optimizer, source_line where,
                                            const State& s, const Batch&... batch) {
  using model = decltype(s.model);
  using result = std::remove_cvref_t<std::invoke_result_t<const Loss&, const model&, const Batch&...>>;
  if constexpr (std::is_same_v<result, std::pair<array, model>>) {
    const auto [found, grads] = value_and_grad(loss, has_aux, where)(s.model, batch...);
    const auto& [value, changed] = found;
    auto next = optim::update_with(optimizer, grads, s.opt_state, changed, step_facts{value});
    return {State{optim::apply_updates(changed, next.first), std::move(next.second)}, value};
  } else {
    const auto [value, grads] = value_and_grad(loss, where)(s.model, batch...);
    auto next = optim::update_with(optimizer, grads, s.opt_state, s.model, step_facts{value});
    return {State{optim::apply_updates(s.model, next.first), std::move(next.second)}, value};
  }
}
}  // namespace detail

/// What `step<loss, optimizer>()` returns: a function without state, which the compiler can trace.
template <const auto& Loss, const auto& Optimizer>
struct known_step {
  source_line where{};  ///< where step was called
  template <class State, class... Batch>
  constexpr std::pair<State, array> operator()(const State& s, const Batch&... batch) const {
    return detail::take_step(Loss, Optimizer, where, s, batch...);
  }
};

/// What `step(loss, optimizer)` returns.
template <class Loss, class Optimizer>
struct traced_step {
  Loss loss;
  Optimizer optimizer;
  source_line where{};
  template <class State, class... Batch>
  constexpr std::pair<State, array> operator()(const State& s, const Batch&... batch) const {
    return detail::take_step(loss, optimizer, where, s, batch...);
  }
};

/// The training step of a loss and an optimizer that are constants of the program. The step takes the state and the
/// further arguments of the loss; it returns the next state and the value of the loss.
///
///   constexpr auto loss = [](const network& m, const batch& b) { ... };
///   constexpr auto optimizer = optim::adam({.learning_rate = 1e-3});
///   using state = train::state<network, optimizer>;
///   const auto step = jit(train::step<loss, optimizer>(), cpu);
///   auto [next, value] = step(std::move(now), batch);
///
/// The step computes
///
///   auto [value, grads] = value_and_grad(loss)(now.model, batch...);
///   auto [updates, opt_state] = optimizer.update(grads, now.opt_state, now.model);
///   return std::pair{state{optim::apply_updates(now.model, updates), opt_state}, value};
///
/// A model with layers that change while they are trained, such as nn::batch_norm, has a loss that takes it by value and returns
/// `std::pair{loss, model}`. The step then updates the parameters of the model that the loss returns.
///
/// errors  those of value_and_grad and of the optimizer
/// source  the train_step of Flax's examples
template <const auto& Loss, const auto& Optimizer>
constexpr known_step<Loss, Optimizer> step(source_line l = source_line::current()) {
  return {l};
}
/// The same for a loss or an optimizer that is made when the program runs.
template <class Loss, class Optimizer>
constexpr traced_step<Loss, Optimizer> step(Loss loss, Optimizer optimizer, source_line l = source_line::current()) {
  return {loss, optimizer, l};
}

}  // namespace tokamax::train

namespace tokamax {
template <const auto& Loss, const auto& Optimizer>
inline constexpr bool is_stateless<train::known_step<Loss, Optimizer>> = true;
}  // namespace tokamax
