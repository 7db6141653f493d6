// tokamax/train/state.hpp: what a training step changes: a model and the state of its optimizer.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/train/step.cpp
#pragma once

#include <tokamax/optim/transform.hpp>  // for its users: gradient_transform

namespace tokamax::train {

/// The state of training a `Model` with an optimizer that is a constant of the program: `train::state<network, optimizer>`.
/// Its default value has the shapes of all arrays, so that the step can be compiled.
template <class Model, const auto& Optimizer>
struct state {
  Model model;
  decltype(Optimizer.init(Model{})) opt_state = Optimizer.init(Model{});
};

/// The same for a model or an optimizer that is made when the program runs.
template <class Model, class OptState>
struct traced_state {
  Model model;
  OptState opt_state;
};

/// The state before the first step: `auto now = train::start(model, optimizer)`.
/// source  flax.training.train_state.TrainState.create
template <class Model, class Optimizer>
constexpr auto start(const Model& model, const Optimizer& optimizer) {
  return traced_state<Model, decltype(optimizer.init(model))>{model, optimizer.init(model)};
}

}  // namespace tokamax::train
