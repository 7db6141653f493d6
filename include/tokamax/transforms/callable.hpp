// tokamax/transforms/callable.hpp: what transformations take as a function: objects, functions of the library, and members.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/reduce.hpp>  // reduce_options

#include <tuple>        // tuple_element_t
#include <type_traits>  // is_invocable_v
#include <utility>      // index_sequence

namespace tokamax {

namespace detail {

/// May a call by pointer leave out a parameter of this type? The line of the call and options have a default value that their
/// type tells; the default of a number is not known.
template <class Parameter>
inline constexpr bool may_be_left_out =
    std::is_same_v<Parameter, source_line> ||
    (std::is_aggregate_v<Parameter> && std::is_default_constructible_v<Parameter> && !std::is_array_v<Parameter>);
template <std::size_t First, class... Parameters>
consteval bool may_end_before() {
  std::size_t k = 0;
  return ((k++ < First || may_be_left_out<std::remove_cvref_t<Parameters>>) && ...);
}

/// A pointer to a function as an object. A call may leave out the line and options at the end.
template <class Result, class... Parameters>
struct function_object {
  Result (*f)(Parameters...);

  /// May a call have these arguments alone?
  template <class... Args, std::size_t... K>
  static consteval bool takes_first(std::index_sequence<K...>) {
    if constexpr (sizeof...(Args) > sizeof...(Parameters) || !may_end_before<sizeof...(Args), Parameters...>())
      return false;
    else
      return (std::is_convertible_v<const Args&, std::tuple_element_t<K, std::tuple<Parameters...>>> && ...);
  }

  template <class... Args>
    requires(takes_first<Args...>(std::index_sequence_for<Args...>{}))
  constexpr Result operator()(const Args&... args) const {
    return call(std::make_index_sequence<sizeof...(Parameters) - sizeof...(Args)>{}, args...);
  }

 private:
  template <std::size_t... Left, class... Args>
  constexpr Result call(std::index_sequence<Left...>, const Args&... args) const {
    using all = std::tuple<std::remove_cvref_t<Parameters>...>;
    return f(args..., std::tuple_element_t<sizeof...(Args) + Left, all>{}...);
  }
};
/// A pointer to a member function as a function of an object and the arguments.
template <class Member>
struct member_object {
  Member f;

  template <class Self, class... Args>
    requires std::is_invocable_v<Member, const Self&, const Args&...>
  constexpr auto operator()(const Self& self, const Args&... args) const {
    return (self.*f)(args...);
  }
};

}  // namespace detail

/// The object that a transformation keeps of a function: the function itself, or an object that calls a pointer.
template <class F>
constexpr F as_callable(F f) {
  return f;
}
template <class Result, class... Parameters>
constexpr detail::function_object<Result, Parameters...> as_callable(Result (*f)(Parameters...)) {
  return {f};
}
template <class Result, class Self>
  requires std::is_function_v<Result>
constexpr detail::member_object<Result Self::*> as_callable(Result Self::* f) {
  return {f};
}
template <class F>
using callable = decltype(as_callable(std::declval<F>()));

/// A function of the library that has several forms, such as `sum`, or `sin` beside complex.hpp. The compiler does not take a
/// name of several functions for an object, but it finds the one of these forms.
class library_function {
 public:
  constexpr library_function(array (*f)(const array&, source_line)) : unary_(f) {}                      // NOLINT
  constexpr library_function(array (*f)(const array&, reduce_options, source_line)) : reduction_(f) {}  // NOLINT
  constexpr library_function(array (*f)(const array&, const array&, source_line)) : binary_(f) {}       // NOLINT

  constexpr array operator()(const array& x) const {
    if (unary_) return unary_(x, {});
    if (reduction_) return reduction_(x, {}, {});
    reject(x, {}, "function: arguments", "1", "2");
    return x;
  }
  constexpr array operator()(const array& x, const array& y) const {
    if (binary_) return binary_(x, y, {});
    reject(x, {}, "function: arguments", "2", "1");
    return x;
  }

 private:
  array (*unary_)(const array&, source_line) = nullptr;
  array (*reduction_)(const array&, reduce_options, source_line) = nullptr;
  array (*binary_)(const array&, const array&, source_line) = nullptr;
};

/// Can F be called with constants of these types? It takes its arguments by value or as `const T&`.
template <class F, class... Args>
concept takes = std::is_invocable_v<const F&, const Args&...>;

}  // namespace tokamax
