// tokamax/optim/transform.hpp: gradient transforms as values, chained, and applied to parameters.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/leaf_kind.hpp>              // is_parameter
#include <tokamax/core/partition.hpp>              // absent
#include <tokamax/lax/elementwise/arithmetic.hpp>  // +
#include <tokamax/lax/iota.hpp>                    // zeros

#include <tuple>        // tuple
#include <type_traits>  // is_same_v
#include <utility>      // pair

namespace tokamax::optim {

/// A gradient transform is a value with two pure functions, for any tree of parameters:
///
///   init(params) -> state
///   update(updates, state, params) -> pair{updates, state}
///   update(updates, state, params, extra) -> the same, for a transform that needs more, such as the loss
///
/// States are trees of arrays, so they are traced, donated and saved as models are. `extra` is a record, and transforms
/// read its fields by name: `extra.value` is the loss. A chain passes it to the members that take it.
/// source  optax.GradientTransformation, GradientTransformationExtraArgs
template <class T, class Params = array>
concept gradient_transform = requires(const T& t, const Params& params) { t.update(params, t.init(params), params); };

/// The state of a transform that needs none.
struct empty_state {};
/// The `extra` of a call that gives none.
struct nothing_extra {};

/// t.update(updates, state, params), with `extra` if t takes it.
template <class Transform, class Updates, class State, class Params, class Extra>
constexpr auto update_with(const Transform& t, const Updates& updates, const State& state, const Params& params,
                           const Extra& extra) {
  if constexpr (requires { t.update(updates, state, params, extra); })
    return t.update(updates, state, params, extra);
  else
    return t.update(updates, state, params);
}

/// Puts f(leaf, rest_leaf...) in the place of each floating parameter of `tree`; other leaves stay.
template <class F, class Tree, class... Rest>
constexpr void update_floating(const F& f, Tree& tree, const Rest&... rest) {
  for_each_leaf(
      [&](auto& leaf, const auto&... others) {
        if constexpr (is_parameter<decltype(leaf)>)
          if (is_floating(leaf.dtype())) static_cast<array&>(leaf) = f(static_cast<const array&>(leaf), others...);
      },
      tree, rest...);
}

/// A copy of `tree` with f(leaf, rest_leaf...) in place of each floating parameter; other leaves stay.
template <class F, class Tree, class... Rest>
constexpr Tree map_floating(const F& f, const Tree& tree, const Rest&... rest) {
  Tree result = copy_tree(tree);
  update_floating(f, result, rest...);
  return result;
}

/// `to` with the floating parameters of `from` in place of its own: other leaves keep their types.
template <class Tree>
constexpr Tree with_parameters(const Tree& to, const Tree& from) {
  return map_floating([](const array&, const array& x) { return x; }, to, from);
}

/// Zeros of the shapes of a tree: what accumulators start from. There are none for leaves that are no parameters.
template <class Tree>
constexpr Tree zeros_like(const Tree& tree) {
  Tree result = copy_tree(tree);
  for_each_leaf(
      [](auto& leaf) {
        if constexpr (is_parameter<decltype(leaf)>)
          static_cast<array&>(leaf) = zeros(leaf.shape(), leaf.dtype());
        else
          static_cast<array&>(leaf) = absent();
      },
      result);
  return result;
}

/// A copy of `tree` with zeros of f32 in place of floating leaves of fewer bits, and nothing for leaves that are no parameters. Averages are kept in such trees, because
/// squares of small f16 gradients are 0 in f16, and because averages in bf16 stop moving.
template <class Tree>
constexpr Tree for_averages(const Tree& tree) {
  Tree result = copy_tree(tree);
  for_each_leaf(
      [](auto& leaf) {
        if constexpr (!is_parameter<decltype(leaf)>) static_cast<array&>(leaf) = absent();
        if (!is_floating(leaf.dtype()) || carrying(leaf.dtype()) == leaf.dtype()) return;
        static_cast<array&>(leaf) = zeros(leaf.shape(), carrying(leaf.dtype()));
      },
      result);
  return result;
}

/// A tree of nothing: what a transform keeps that needs no state.
template <class Tree>
constexpr Tree nothing_like(const Tree& tree) {
  Tree result = copy_tree(tree);
  for_each_leaf([](auto& leaf) { static_cast<array&>(leaf) = absent(); }, result);
  return result;
}

/// The floating parameters alone, for a state that remembers them.
template <class Tree>
constexpr Tree parameters_of(const Tree& tree) {
  return with_parameters(zeros_like(tree), tree);
}

/// One more step, without wrapping around.
constexpr array incremented(const array& count) {
  return minimum(count, array(2147483646.0, {i32, false, {}})) + array(1.0, {i32, false, {}});
}

/// Printed by the compiler for a state that is no state of the optimiser; arguments that have changed places, for example.
template <class State, class Expected>
struct unsuitable_state {
  static_assert(std::is_same_v<State, Expected>,
                "tokamax: update(updates, state, params): found another state, expected what init(params) gives");
};

namespace detail {
/// Is x the number 0?
constexpr bool is_zero(const array& x) { return x.is_literal() && as_double(x.literal_as(f64), f64) == 0; }
/// f(x) in 64 bits if x is a number, because 1 - 0.999 has few digits in f32, and in the dtype of x if a schedule gave it.
template <class F>
constexpr array of_number(const F& f, const array& x) {
  if (x.is_literal()) return array(f(as_double(x.literal_as(f64), f64)));
  return f(x);
}
/// Gradients are to have the shapes of their parameters.
template <class Updates, class Params>
constexpr void require_shapes(const char* what, const Updates& updates, const Params& params, source_line l) {
  const auto look = [&](const array& u, const auto& p) {
    if (!is_parameter<decltype(p)> || !is_floating(p.dtype()) || u.shape() == p.shape()) return;
    const array both[] = {u, p};
    reject(both, 2, l, what, u.type(), message("the shape of its parameter, ") << p.type());
  };
  for_each_leaf(look, updates, params);
}
}  // namespace detail

/// What `chain` returns.
template <class... Transforms>
struct chained {
  std::tuple<Transforms...> transforms;

  template <class Params>
  constexpr auto init(const Params& params) const {
    return std::apply([&](const auto&... t) { return std::tuple<decltype(t.init(params))...>{t.init(params)...}; },
                      transforms);
  }
  template <class Updates, class State, class Params, class Extra = nothing_extra>
  constexpr std::pair<Updates, State> update(Updates updates, State state, const Params& params,
                                             const Extra& extra = {}, source_line l = source_line::current()) const {
    using expected = decltype(init(params));
    if constexpr (std::is_same_v<State, expected>) {
      detail::require_shapes("update: gradient", updates, params, l);
      step<0>(updates, state, params, extra);
    } else {
      static_cast<void>(sizeof(unsuitable_state<State, expected>));
    }
    return {std::move(updates), std::move(state)};
  }

 private:
  template <std::size_t Index, class Updates, class State, class Params, class Extra>
  constexpr void step(Updates& updates, State& state, const Params& params, const Extra& extra) const {
    if constexpr (Index < sizeof...(Transforms)) {
      auto next = update_with(std::get<Index>(transforms), updates, std::get<Index>(state), params, extra);
      updates = std::move(next.first);
      std::get<Index>(state) = std::move(next.second);
      step<Index + 1>(updates, state, params, extra);
    }
  }
};

/// Applies transforms one after the other; the state is the tuple of theirs. Functions that return chains (`adam`) are
/// templates, so that a file makes those alone that it calls.
/// errors  "update: gradient" of another shape than its parameter, at the line that calls `update`
/// source  optax.chain
template <class... Transforms>
constexpr chained<Transforms...> chain(Transforms... transforms) {
  return {{transforms...}};
}

/// params + updates, in the dtypes of params.
/// errors  "apply_updates: update" of another shape than its parameter
/// source  optax.apply_updates
template <class Params>
constexpr Params apply_updates(const Params& params, const Params& updates, source_line l = source_line::current()) {
  detail::require_shapes("apply_updates: update", updates, params, l);
  return map_floating([](const array& p, const array& u) { return astype(p + u, p.dtype()); }, params, updates);
}

}  // namespace tokamax::optim
