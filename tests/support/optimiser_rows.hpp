// tests/support/optimiser_rows.hpp: an optimiser on a matrix, a vector and a number, step by step as in tests/golden/optimisers.txt.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/optim/transform.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tokamax::test {

/// Parameters of three ranks.
struct probes {
  array matrix = zeros({4, 3}), vector = zeros({3}), number = zeros({});
};
/// sin(scale i + shift) for element i of each leaf.
probes waves(double scale, double shift);
/// The leaves behind one another: [16].
array flat(const probes& p);
/// The loss sum(w (p - target)^2) / 2 * factor, and its gradient.
array probe_loss(const probes& p, const array& factor);
probes probe_gradient(const probes& p, const array& factor);

/// What an update gets beside gradients: the loss, and the loss and its gradient as functions.
struct loss_at {
  array value;
};
struct loss_functions {
  array value, factor;
  array obj_fn(const probes& p) const { return probe_loss(p, factor); }
  probes grad_fn(const probes& p, int) const { return probe_gradient(p, factor); }
};

/// An update whose state is a list of arrays: (gradient, state, parameters, value of the loss, factor) -> updates, state.
using list_update = std::function<std::pair<probes, std::vector<array>>(const probes&, const std::vector<array>&,
                                                                        const probes&, const array&, const array&)>;
/// Compares the parameters after steps 1, 2, 5, 10, 25 and 50 with a row, and the updates of step 2 with eager ones, bit for bit.
void check_steps_of(const std::string& name, const list_update& update, std::vector<array> state, double tolerance);
/// The same for parameters and gradients of bf16 after step 10, within two units in the last place.
void check_narrow_steps_of(const std::string& name, const list_update& update, std::vector<array> state);

/// Checks that an update gives leaves without elements as they are, and finite numbers elsewhere.
void check_empty_leaves(const std::string& name, const list_update& update, const std::vector<array>& state);
/// Parameters whose matrix and vector have no elements.
probes empty_leaves();

/// How far the parameters are from the target after `steps` steps in one program, relative to the target.
double distance_after(const list_update& update, const std::vector<array>& state, int steps);

/// Where rows start: waves(0.9, 0.3) times 2.
probes starting_point();

/// An optimiser as an update of lists, and its first state. All optimisers share one jit over lists of arrays.
template <class Extra, class Optimizer>
std::pair<list_update, std::vector<array>> listed(const Optimizer& optimizer, const probes& start = starting_point()) {
  const auto first = optimizer.init(start);
  const auto leaves = [](const auto& state) {
    std::vector<array> list;
    for_each_leaf([&](const array& a) { list.push_back(a); }, state);
    return list;
  };
  const list_update update = [=](const probes& g, const std::vector<array>& list, const probes& p, const array& value,
                                 const array& factor) -> std::pair<probes, std::vector<array>> {
    auto state = copy_tree(first);
    std::size_t at = 0;
    for_each_leaf([&](auto& leaf) { static_cast<array&>(leaf) = list[at++]; }, state);
    Extra extra;
    extra.value = value;
    if constexpr (requires { extra.factor; }) extra.factor = factor;
    auto [updates, next] = optim::update_with(optimizer, g, state, p, extra);
    return {std::move(updates), leaves(next)};
  };
  return {update, leaves(first)};
}

/// Checks a row of tests/golden/optimisers.txt.
template <class Extra = loss_at, class Optimizer>
void check_optimiser(const std::string& name, const Optimizer& optimizer, double tolerance = 2e-6) {
  const auto [update, state] = listed<Extra>(optimizer);
  check_steps_of(name, update, state, tolerance);
  check_empty_leaves(name, update, listed<Extra>(optimizer, empty_leaves()).second);
}
/// Checks a row "bf16_NAME" of it.
template <class Optimizer>
void check_narrow(const std::string& name, const Optimizer& optimizer) {
  const auto [update, state] = listed<loss_at>(optimizer);
  check_narrow_steps_of(name, update, state);
}
/// Does the optimiser find the target of the loss in ten thousand steps?
template <class Optimizer>
double distance_of(const Optimizer& optimizer) {
  const auto [update, state] = listed<loss_at>(optimizer);
  return distance_after(update, state, 10000);
}

}  // namespace tokamax::test
