// tokamax/base/linked.hpp: functions that constant expressions evaluate and run-time calls may find in a linked library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <type_traits>  // is_constant_evaluated
#include <utility>      // forward

namespace tokamax {

/// One copy of a function. Programs that define TOKAMAX_SEPARATE_KERNELS see `extern template` of those that the library
/// holds (a generated header names them), so that what the function needs is not compiled again in each of their files.
/// The function is not noexcept: nvcc would not find the specialisation.
template <auto Function>
struct linked_function;
template <class Result, class... Args, Result (*Function)(Args...)>
struct linked_function<Function> {
  static Result run(Args... args);
};
template <class Result, class... Args, Result (*Function)(Args...)>
Result linked_function<Function>::run(Args... args) {
  return Function(std::forward<Args>(args)...);
}

/// Function(args...): evaluated by the compiler where it must, else a call of the one copy. (Behind
/// std::is_constant_evaluated g++ 12 keeps the first call in every program until late, and with it all that it needs.)
template <auto Function, class... Args>
constexpr decltype(auto) linked(Args&&... args) {
  if (__builtin_is_constant_evaluated()) return Function(std::forward<Args>(args)...);
  return linked_function<Function>::run(std::forward<Args>(args)...);
}

}  // namespace tokamax
