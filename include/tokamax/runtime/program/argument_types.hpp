// tokamax/runtime/program/argument_types.hpp: checks arrays that a function takes as tensors, at the call of the jitted function.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/jit.cpp
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <concepts>     // same_as
#include <cstddef>      // size_t
#include <string>       // to_string
#include <type_traits>  // remove_cvref_t

namespace tokamax::detail {

/// An array whose dtype and shape are part of its type.
template <class T>
concept typed_array = requires(array_type t) { t = T::static_type; };

/// Throws if an array does not fit the parameter that it becomes. Other arguments are ignored.
template <class Parameter, class Given>
void check_argument(const Given& given, std::size_t position) {
  if constexpr (typed_array<Parameter> && std::same_as<Given, array>)
    if (!fits(Parameter::static_type, given.type()))
      throw error(error_kind::shape, "jit: argument", std::string(message(given.type()).view()),
                  std::string(message(Parameter::static_type).view()), "argument " + std::to_string(position));
}
template <class F, class Result, class... Parameter, class... Given>
void check_arguments(Result (F::*)(Parameter...) const, const Given&... given) {
  std::size_t position = 0;
  if constexpr (sizeof...(Parameter) == sizeof...(Given))
    (check_argument<std::remove_cvref_t<Parameter>>(given, position++), ...);
}
/// The same for all parameters of a function object, if they are not templates.
template <class F, class... Given>
void check_arguments_of(const Given&... given) {
  if constexpr (requires { &F::operator(); }) check_arguments(&F::operator(), given...);
}

}  // namespace tokamax::detail
