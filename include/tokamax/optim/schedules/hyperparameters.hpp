// tokamax/optim/schedules/hyperparameters.hpp: numbers of optimisers that follow schedules, and values of a state by name.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/optim/transforms/named_chain.hpp>  // named_values
#include <tokamax/optim/transforms/scale.hpp>        // schedule

#include <string>  // paths
#include <vector>  // paths

namespace tokamax::optim {

template <class Values, class Inner>
struct hyperparameters_state {
  array count = zeros({}, i32);  ///< updates so far
  Values hyperparams{};          ///< the numbers of the last update, and 0 before the first
  Inner inner{};
};

/// What `inject_hyperparams` returns.
template <class Make, class... Named>
struct injected {
  Make make;
  std::tuple<Named...> schedules;
  using values = named_values<named_value<fixed_string<Named::name.size()>(Named::name), array>...>;

  template <class Params>
  constexpr auto init(const Params& params) const {
    const auto first = [](const schedule& s) -> array {
      if (!s.is_number() && std::is_constant_evaluated())
        return ones({});  // outside a trace nothing can be computed then
      return s.at(zeros({}, i32));
    };
    auto inner = std::apply([&](const auto&... s) { return make(first(s.value)...).init(params); }, schedules);
    return hyperparameters_state<values, decltype(inner)>{zeros({}, i32), none(), std::move(inner)};
  }
  template <class Updates, class State, class Params, class Extra = nothing_extra>
  constexpr std::pair<Updates, State> update(const Updates& updates, const State& s, const Params& params,
                                             const Extra& extra = {}) const {
    auto [changed, inner] = update_with(made(s.count), updates, s.inner, params, extra);
    return {std::move(changed), State{incremented(s.count), at(s.count), std::move(inner)}};
  }

 private:
  static constexpr values none() { return {{(static_cast<void>(Named::name), zeros({}))...}}; }
  constexpr auto made(const array& step) const {
    return std::apply([&](const auto&... s) { return make(schedule(s.value).at(step)...); }, schedules);
  }
  constexpr values at(const array& step) const {
    return std::apply([&](const auto&... s) { return values{{astype(schedule(s.value)(step), f32)...}}; }, schedules);
  }
};

/// An optimiser whose numbers follow schedules. `make` is a function of their values in a step, in the order of the names:
///
///   inject_hyperparams([](const array& rate, const array& b1) { return adam({.learning_rate = rate, .b1 = b1}); },
///                      named<"learning_rate">(cosine({.init = 0.1, .steps = 100})), named<"b1">(linear(0.95, 0.85, 100)))
///
/// A number in place of a schedule gives the bits of the optimiser that is made with the number. The values of the last
/// update are fields of the state, which `get(state, "b1")` reads.
/// source  optax.inject_hyperparams
template <class Make, class... Named>
constexpr injected<Make, Named...> inject_hyperparams(Make make, Named... schedules) {
  return {std::move(make), {std::move(schedules)...}};
}

namespace detail {
/// Does `path` end with the components of `name`?
constexpr bool ends_with_name(std::string_view path, std::string_view name) {
  if (!path.ends_with(name)) return false;
  return path.size() == name.size() || path[path.size() - name.size() - 1] == '.' || name.starts_with('[');
}
/// Calls f(leaf) for the only leaf of that name.
template <class F, class State>
void visit_named(const char* what, State& state, std::string_view name, const F& f) {
  std::vector<std::string> found, scalars;
  for_each_leaf_with_path(
      [&](std::string_view path, const array& a) {
        if (ends_with_name(path, name)) found.emplace_back(path);
        if (a.rank() == 0) scalars.emplace_back(path);
      },
      state);
  const auto listed = [](const std::vector<std::string>& paths) {
    std::string text;
    for (std::size_t i = 0; i < paths.size() && i < 16; ++i) text += (i == 0 ? "" : ", ") + paths[i];
    return text + (paths.size() > 16 ? ", ..." : "");
  };
  if (found.empty()) throw error(what, std::string(name), "the name of a value: " + listed(scalars));
  if (found.size() > 1) throw error(what, std::string(name), "a path that ends one of " + listed(found));
  for_each_leaf_with_path(
      [&](std::string_view path, auto& a) {
        if (path == found[0]) f(a);
      },
      state);
}
}  // namespace detail

/// All values of that name in a state, with their paths.
/// source  optax.tree.get_all_with_path
template <class State>
std::vector<std::pair<std::string, array>> get_all(const State& state, std::string_view name) {
  std::vector<std::pair<std::string, array>> found;
  for_each_leaf_with_path(
      [&](std::string_view path, const array& a) {
        if (detail::ends_with_name(path, name)) found.emplace_back(path, a);
      },
      state);
  return found;
}
/// The value of that name in a state, such as "learning_rate" or "b1". A name that several parts have is told apart by more
/// of its path: "adam[2].learning_rate".
/// errors  "optim::get", with the names that there are
/// source  optax.tree.get
template <class State>
array get(const State& state, std::string_view name) {
  array result;
  detail::visit_named("optim::get", state, name, [&](const array& a) { result = a; });
  return result;
}
/// A copy of the state in which that value is another one.
/// errors  "optim::set", as `get`; "optim::set: value" of another type
/// source  optax.tree.set
template <class State>
State set(const State& state, std::string_view name, const array& value) {
  State result = copy_tree(state);
  detail::visit_named("optim::set", result, name, [&](auto& a) {
    const array given = astype(value, a.dtype());
    if (given.shape() != a.shape())
      throw error("optim::set: value", std::string((message() << given.type()).view()),
                  std::string((message() << a.type()).view()), std::string(name));
    static_cast<array&>(a) = given;
  });
  return result;
}

}  // namespace tokamax::optim
