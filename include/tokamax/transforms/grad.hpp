// tokamax/transforms/grad.hpp: gradients of functions on trees.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/arguments.hpp>        // has_aux
#include <tokamax/transforms/callable.hpp>         // callable, takes
#include <tokamax/transforms/passes/backward.hpp>  // backward

namespace tokamax {

namespace detail {
constexpr void require_scalar(const graph& g, const array& loss, source_line l) {
  if (loss.rank() == 0 && is_floating(loss.dtype())) return;
  reject(loss, l.line() ? location(l) : g[loss.id()].where, "grad: value of the function", loss.type(),
         "a floating scalar");
}
}  // namespace detail

/// What `value_and_grad(f)` returns; a function of the arguments of f.
template <class F, bool Aux, int... Arguments>
struct value_and_grad_function {
  [[no_unique_address]] F f;
  source_line where{};  ///< the line of the call of value_and_grad

  template <class... Args>
  constexpr auto operator()(const Args&... args) const {
    using numbers = detail::argument_numbers<static_cast<int>(sizeof...(Args)), Arguments...>;
    return start<numbers>(std::index_sequence_for<Args...>{}, args...);
  }

 private:
  template <class Numbers, std::size_t... Index, class... Args>
  constexpr auto start(std::index_sequence<Index...>, const Args&... args) const {
    return run<Numbers>(std::make_index_sequence<Numbers::count>{}, detail::as_argument<Numbers::has(Index)>(args)...);
  }
  template <class Numbers, std::size_t... K, class... Args>
  constexpr auto run(std::index_sequence<K...> chosen, const Args&... args) const {
    static_assert(takes<F, Args...>,
                  "tokamax: grad: the function does not take these arguments, as values or const T&");
    if constexpr (takes<F, Args...>) return in_graph<Numbers>(chosen, args...);
  }
  template <class Numbers, std::size_t... K, class... Args>
  constexpr auto in_graph(std::index_sequence<K...> chosen, const Args&... args) const {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
    using tuple = std::tuple<std::tuple_element_t<Numbers::template at<K>(), std::tuple<Args...>>...>;
    using grads_type = decltype(detail::one_or_tuple(std::declval<tuple>()));
    static_assert(
        Aux || std::is_base_of_v<array, result_type>,
        "tokamax: grad: the function is to return a scalar; with has_aux, a pair of a scalar and of what else it "
        "computed");
    return in_trace(
        [this, chosen](graph& g, const Args&... traced) -> std::pair<result_type, grads_type> {
          return trace<Numbers, result_type, grads_type>(g, std::index_sequence_for<Args...>{}, chosen, traced...);
        },
        args...);
  }
  template <class Numbers, class Result, class Grads, std::size_t... Index, std::size_t... K, class... Args>
  constexpr std::pair<Result, Grads> trace(graph& g, std::index_sequence<Index...>, std::index_sequence<K...>,
                                           const Args&... args) const {
    const std::tuple<Args...> variables{variables_of<Numbers::has(Index)>(g, args)...};  // braces: from left to right
    const Result result = std::apply(f, variables);
    const array scalar = lift(g, detail::differentiated<Aux>(result), where);
    detail::require_scalar(g, scalar, where);
    arrays wrt;
    int first[sizeof...(K)] = {};
    ((first[K] = append(wrt, std::get<Numbers::template at<K>()>(variables))), ...);
    const arrays cts = backward(g, scalar, array(1.0, scalar.type()), wrt);
    return {result, detail::one_or_tuple(std::make_tuple(detail::with_cotangents<true>(
                        std::get<Numbers::template at<K>()>(variables), cts, first[K])...))};
  }
  template <bool Differentiated, class Tree>
  constexpr Tree variables_of(graph& g, const Tree& tree) const {
    if constexpr (Differentiated) {
      detail::require_floats(g, "grad: argument", tree, where);
      return detail::as_variables<true>(tree);
    } else {
      return copy_tree(tree);
    }
  }
  template <class Tree>
  static constexpr int append(arrays& all, const Tree& tree) {
    const int first = all.count();
    for_each_leaf([&](const array& a) { all.push_back(a); }, tree);
    return first;
  }
};

/// A function that returns f's value and its gradient, which is a tree like f's first argument. `value_and_grad<1>(f)`
/// differentiates with respect to the second argument, and `value_and_grad<0, 2>(f)` with respect to two of them, as a
/// tuple. Negative numbers count from the end. With `has_aux`, f returns a pair of the value and anything else, and this
/// pair takes the place of the value. The gradient of a leaf that is no parameter (leaf_kind.hpp) is zero.
///
/// shapes  f must give a floating scalar
/// errors  "grad: value of the function", "grad: argument" without floating leaves
/// source  jax.value_and_grad
template <int... Arguments, class F>
constexpr value_and_grad_function<callable<F>, false, Arguments...> value_and_grad(
    F f, source_line l = source_line::current()) {
  return {as_callable(f), l};
}
template <int... Arguments, class F>
constexpr value_and_grad_function<callable<F>, true, Arguments...> value_and_grad(
    F f, has_aux_tag, source_line l = source_line::current()) {
  return {as_callable(f), l};
}
template <int... Arguments>
constexpr value_and_grad_function<library_function, false, Arguments...> value_and_grad(
    library_function f, source_line l = source_line::current()) {
  return {f, l};
}
template <class F, bool Aux, int... Arguments>
inline constexpr bool is_stateless<value_and_grad_function<F, Aux, Arguments...>> = is_stateless<F>;

/// What `grad(f)` returns.
template <class F, bool Aux, int... Arguments>
struct grad_function {
  [[no_unique_address]] F f;
  source_line where{};  ///< the line of the call of grad
  template <class... Args>
  constexpr auto operator()(const Args&... args) const {
    using both = value_and_grad_function<F, Aux, Arguments...>;
    using result_type = decltype(both{f, where}(args...));
    if constexpr (!std::is_void_v<result_type>) return part_of(both{f, where}(args...));
  }

 private:
  template <class Result>
  static constexpr auto part_of(Result result) {
    if constexpr (Aux)
      return std::pair{std::move(result.second), std::move(result.first.second)};
    else
      return std::move(result.second);
  }
};

/// A function that returns only the gradient of f. Argument numbers, `grad<0, 2>(f)`, are as for `value_and_grad`. With
/// `has_aux` it returns the pair of the gradient and the second part of f's result.
/// source  jax.grad
template <int... Arguments, class F>
constexpr grad_function<callable<F>, false, Arguments...> grad(F f, source_line l = source_line::current()) {
  return {as_callable(f), l};
}
template <int... Arguments, class F>
constexpr grad_function<callable<F>, true, Arguments...> grad(F f, has_aux_tag,
                                                              source_line l = source_line::current()) {
  return {as_callable(f), l};
}
template <int... Arguments>
constexpr grad_function<library_function, false, Arguments...> grad(library_function f,
                                                                    source_line l = source_line::current()) {
  return {f, l};
}
template <class F, bool Aux, int... Arguments>
inline constexpr bool is_stateless<grad_function<F, Aux, Arguments...>> = is_stateless<F>;

}  // namespace tokamax
