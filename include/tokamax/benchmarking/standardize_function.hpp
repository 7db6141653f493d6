// tokamax/benchmarking/standardize_function.hpp: a function and its derivative as programs that can be measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/benchmarking/random_initialize.hpp>  // random_initialize
#include <tokamax/transforms/eval_shape.hpp>           // eval_shape
#include <tokamax/transforms/vjp.hpp>                  // vjp

#include <string_view>  // string_view

namespace tokamax {

/// What of a function is computed.
enum class benchmark_mode : std::uint8_t {
  forward,         ///< its value
  forward_res,     ///< its value and the residuals that its backward pass needs
  vjp,             ///< the cotangents of its arguments, from residuals that were computed before
  forward_and_vjp  ///< its value and the cotangents
};
constexpr std::string_view name(benchmark_mode m) {
  constexpr std::string_view names[] = {"forward", "forward_res", "vjp", "forward_and_vjp"};
  return names[static_cast<int>(m)];
}

/// A function with the arguments on which it is called.
template <class Function, class... Args>
struct standardized_function {
  Function function;
  std::tuple<Args...> arguments;
  auto operator()() const { return std::apply(function, arguments); }
};

/// How standardize_function makes arguments.
struct standardize_function_options {
  std::uint32_t seed = 0;  ///< of the data of abstract arrays
};

namespace detail {
inline bool has_floats(const arrays& list) {
  for (const array& a : list)
    if (is_floating(a.dtype())) return true;
  return false;
}
template <class F, class... Args>
void require_derivative(benchmark_mode mode, const F& f, const Args&... args) {
  const std::string what = "mode " + std::string(name(mode));
  if (!has_floats(leaves(args...))) throw error(what + ": arguments", "no floats", "an array of floats");
  if (!has_floats(leaves(eval_shape(f, args...)))) throw error(what + ": result", "no floats", "an array of floats");
}

/// The residuals that a program has to store: what the arguments and the value hold is in memory anyway.
inline std::vector<array> stored(const std::vector<array>& residuals, const arrays& others) {
  std::vector<array> kept;
  for (const array& r : residuals) {
    bool known = false;
    for (const array& o : others) known = known || (r.is_traced() && r.trace() == o.trace() && r.id() == o.id());
    if (!known) kept.push_back(r);
  }
  return kept;
}

template <benchmark_mode Mode, class F, class... Args>
auto function_of_mode(const F& f, const std::tuple<Args...>& given) {
  if constexpr (Mode == benchmark_mode::forward) {
    return standardized_function<F, Args...>{f, given};
  } else if constexpr (Mode == benchmark_mode::forward_res) {
    const auto function = [f](const Args&... args) {
      const auto both = vjp(f, args...);
      return std::pair{both.first, stored(both.second.residuals(), leaves(both.first, args...))};
    };
    return standardized_function<decltype(function), Args...>{function, given};
  } else if constexpr (Mode == benchmark_mode::vjp) {
    auto both = std::apply([&](const Args&... args) { return vjp(f, args...); }, given);
    using value = std::remove_cvref_t<decltype(both.first)>;
    return standardized_function<decltype(both.second), value>{both.second, std::tuple<value>(both.first)};
  } else {
    const auto function = [f](const Args&... args) {
      const auto both = vjp(f, args...);
      return std::pair{both.first, both.second(both.first)};
    };
    return standardized_function<decltype(function), Args...>{function, given};
  }
}
/// An argument, or the array that a type asks for.
template <class T>
const T& as_tree(const T& x) {
  return x;
}
inline array as_tree(const array_type& type) { return array(type); }
}  // namespace detail

/// A function of one of the modes, with data for its arguments, for tests and measurements. An argument is a tree whose
/// abstract arrays get data from `random_initialize`, or an `array_type`. The cotangent is the value of f.
///
///   const auto s = standardize_function<benchmark_mode::forward_and_vjp>(f, array_type{f32, false, {8, 64}}, w);
///   const auto [y, grads] = s();  // or jit(s.function, cpu) on s.arguments
///
/// errors  "mode ...: arguments" and "mode ...: result" if there are no floats to differentiate; those of
///         random_initialize, vjp and f
/// source  tokamax's standardize_function
template <benchmark_mode Mode = benchmark_mode::forward, class F, class... Args>
auto standardize_function(const F& f, const standardize_function_options& options, const Args&... args) {
  using trees = std::tuple<std::remove_cvref_t<decltype(detail::as_tree(args))>...>;
  const trees given = random_initialize(trees(detail::as_tree(args)...), options.seed);
  if constexpr (Mode != benchmark_mode::forward) {
    static_assert(sizeof...(Args) > 0, "tokamax: a function without arguments has no derivative");
    std::apply([&](const auto&... tree) { detail::require_derivative(Mode, f, tree...); }, given);
  }
  return detail::function_of_mode<Mode>(f, given);
}
template <benchmark_mode Mode = benchmark_mode::forward, class F, class... Args>
auto standardize_function(const F& f, const Args&... args) {
  return standardize_function<Mode>(f, standardize_function_options{}, args...);
}

}  // namespace tokamax
