// tokamax/optim/transforms/monitor.hpp: what updates looked like, kept in the state.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/wrappers/wrappers.cpp
#pragma once

#include <tokamax/optim/transforms/accumulate.hpp>   // ema
#include <tokamax/optim/transforms/named_chain.hpp>  // named_values

namespace tokamax::optim {

/// A transform that gives measure(updates) in place of updates: the average of measurements for `monitor`.
/// source  optax.measure_with_ema
template <class Measure>
struct measure_with_ema {
  Measure measure;
  array decay;
  bool debias = true;

  template <class Params>
  constexpr auto init(const Params& params) const {
    return average().init(measure(params));
  }
  template <class Params, class State>
  constexpr auto update(const Params& updates, const State& s, const Params&) const {
    const auto now = measure(updates);
    return average().update(now, s, now);
  }

 private:
  constexpr ema average() const { return {decay, debias, dtype::none}; }
};
template <class Measure>
measure_with_ema(Measure, double) -> measure_with_ema<Measure>;
template <class Measure>
measure_with_ema(Measure, double, bool) -> measure_with_ema<Measure>;

template <class Values, class States>
struct monitor_state {
  Values measurements{};  ///< of the last updates
  States inner{};
};

/// Leaves updates alone, and keeps measurements of them under their names: functions of the updates, or transforms such as
/// measure_with_ema:
///
///   chain(adam({.learning_rate = 1e-3}), monitor(named<"norm">([](const auto& u) { return global_norm(u); })))
///
/// `get(state, "norm")` reads one.
/// source  optax.monitor, snapshot
template <class... Named>
struct monitor_transform {
  std::tuple<Named...> measures;

  template <class Params>
  constexpr auto init(const Params& params) const {
    auto states = std::apply([&](const auto&... m) { return std::make_tuple(state_of(m.value, params)...); }, measures);
    auto first = with(params, params, states);
    first.inner = states;
    return first;
  }
  template <class Params, class State>
  constexpr std::pair<Params, State> update(const Params& updates, const State& s, const Params& params) const {
    return {updates, with(updates, params, s.inner)};
  }

 private:
  template <class M, class Params>
  static constexpr auto state_of(const M& m, const Params& params) {
    if constexpr (requires { m.init(params); })
      return m.init(params);
    else
      return empty_state{};
  }
  template <class M, class Updates, class State, class Params>
  static constexpr auto measured(const M& m, const Updates& u, const State& s, const Params& params) {
    if constexpr (requires { m.init(params); })
      return m.update(u, s, params);
    else
      return std::pair<decltype(m(u)), State>{m(u), s};
  }
  template <class Updates, class Params, class States>
  constexpr auto with(const Updates& u, const Params& params, const States& states) const {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      auto found = std::make_tuple(measured(std::get<K>(measures).value, u, std::get<K>(states), params)...);
      using values = named_values<named_value<fixed_string<Named::name.size()>(Named::name),
                                              std::remove_cvref_t<decltype(std::get<K>(found).first)>>...>;
      return monitor_state<values, States>{{{std::get<K>(found).first...}}, States{std::get<K>(found).second...}};
    }(std::index_sequence_for<Named...>{});
  }
};
template <class... Named>
constexpr monitor_transform<Named...> monitor(Named... measures) {
  return {{std::move(measures)...}};
}
/// The same with one measurement: `snapshot<"norm">(f)`.
template <fixed_string Name, class Measure>
constexpr auto snapshot(Measure measure) {
  return monitor(named<Name>(std::move(measure)));
}

}  // namespace tokamax::optim
