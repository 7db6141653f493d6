// tokamax/optim/transforms/named_chain.hpp: chains whose parts have names, also in the paths of checkpoints.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/base/fixed_string.hpp>  // fixed_string
#include <tokamax/optim/transform.hpp>    // chained

#include <array>        // array
#include <string_view>  // string_view
#include <tuple>        // tie

namespace tokamax::optim {

/// A value with a name that is known to the compiler: `named<"clip">(clip_by_global_norm(1))`.
template <fixed_string Name, class T>
struct named_value {
  using type = T;
  static constexpr std::string_view name = Name;
  T value;
};
template <fixed_string Name, class T>
constexpr named_value<Name, T> named(T value) {
  return {std::move(value)};
}

/// A tree of values that go by names: the paths of its leaves begin with them.
template <class... Named>
struct named_values {
  std::tuple<typename Named::type...> values;

  static constexpr auto tokamax_fields(auto& self) {
    return std::apply([](auto&... value) { return std::tie(value...); }, self.values);
  }
  static constexpr std::array<std::string_view, sizeof...(Named)> tokamax_field_names{Named::name...};
};

/// What `named_chain` returns.
template <class... Named>
struct named_chained {
  chained<typename Named::type...> parts;

  template <class Params>
  using state_of =
      named_values<named_value<fixed_string<Named::name.size()>(Named::name),
                               decltype(std::declval<typename Named::type>().init(std::declval<Params>()))>...>;

  template <class Params>
  constexpr state_of<Params> init(const Params& params) const {
    return {parts.init(params)};
  }
  template <class Updates, class State, class Params, class Extra = nothing_extra>
  constexpr std::pair<Updates, State> update(const Updates& updates, const State& s, const Params& params,
                                             const Extra& extra = {}, source_line l = source_line::current()) const {
    auto [changed, values] = parts.update(updates, s.values, params, extra, l);
    return {std::move(changed), State{std::move(values)}};
  }
};

/// `chain`, whose state has a field for each part under its name:
///
///   named_chain(named<"clip">(clip_by_global_norm(1)), named<"adam">(adam({.learning_rate = 1e-3})))
///
/// The path of an average is then `opt_state.adam[0].mu` rather than `opt_state[1][0].mu`.
/// source  optax.named_chain
template <class... Named>
constexpr named_chained<Named...> named_chain(Named... parts) {
  return {chain(std::move(parts.value)...)};
}

}  // namespace tokamax::optim
