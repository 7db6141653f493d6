// tokamax/optim/second_order/minimize.hpp: the minimum of a function, in one program.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/optim/second_order/lbfgs.hpp>  // lbfgs, line_facts

namespace tokamax::optim {

struct minimize_options {
  int max_steps = 500;
  double tol = 1e-5;  ///< it ends where no element of the gradient is larger
};

/// Where a minimisation has ended.
template <class Params>
struct minimum_found {
  Params params{};
  array value = zeros({});       ///< f(params)
  array error = zeros({});       ///< the largest element of the gradient there
  array steps = zeros({}, i32);  ///< updates that were made
  array converged = zeros({}, bool_);
};

/// Updates x with `optimizer` until the gradient is small: `minimize(f, x)` by L-BFGS, or
///
///   minimize(f, x, adam({.learning_rate = 0.1}), {.max_steps = 1000})
///
/// f is a function of a tree that returns a scalar. All steps are one loop of one program, also without jit. A step whose
/// value is not finite ends the loop, and the parameters before it are the result.
/// source  scipy.optimize.minimize, jaxopt.LBFGS; the loop in the documentation of optax.lbfgs
template <class F, class Params, class Optimizer = decltype(lbfgs())>
constexpr minimum_found<Params> minimize(const F& f, const Params& x, const Optimizer& optimizer = lbfgs(),
                                         const minimize_options& o = {}) {
  using memory = std::remove_cvref_t<decltype(optimizer.init(x))>;
  struct progress {
    Params params;
    memory state;
    array value;
    Params grad;
    array steps, goes_on;
  };
  const auto loss = [&](const Params& p) { return array(f(p)); };
  const auto error_of = [](const Params& g) { return tree::norm(g, tree::order::infinity); };
  const auto evaluated = [&](const Params& p) -> std::pair<array, Params> {
    const auto [value, slopes] = value_and_grad(loss)(p);
    return {astype(value, f32), slopes};
  };
  const auto step = [&](const progress& now) {
    auto [updates, state] = update_with(optimizer, now.grad, now.state, now.params,
                                        line_facts<Params, std::decay_t<F>>{now.value, now.grad, f});
    const Params params = apply_updates(now.params, updates);
    std::pair<array, Params> next;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(optimizer)>, decltype(lbfgs())>) {
      const auto& line = std::get<line_search_state<Params>>(state);  // evaluated behind the step already
      next = {line.value, with_parameters(now.grad, line.grad)};
    } else {
      next = evaluated(params);
    }
    const array finite = isfinite(next.first);
    const auto keep = [&](const auto& a, const auto& b) {
      return tree_map([&](const array& n, const array& p) { return select(finite, n, p); }, a, b);
    };
    return progress{keep(params, now.params),    keep(state, now.state), select(finite, next.first, now.value),
                    keep(next.second, now.grad), now.steps + 1,          finite};
  };
  const auto goes_on = [&](const progress& now) {
    return logical_and(now.goes_on, logical_and(now.steps<o.max_steps, error_of(now.grad)> o.tol));
  };
  const auto [value, slopes] = evaluated(x);
  const progress end =
      while_loop(goes_on, step, progress{x, optimizer.init(x), value, slopes, zeros({}, i32), isfinite(value)});
  const array error = error_of(end.grad);
  return {end.params, end.value, error, end.steps, error <= o.tol};
}

}  // namespace tokamax::optim
