// tokamax/base/linked.hpp: functions that constant expressions evaluate and run-time calls may find in a linked library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <utility>  // forward

namespace tokamax {

/// One copy of a function. A program that defines TOKAMAX_SEPARATE_KERNELS sees `extern template` declarations of the
/// copies in the library of kernels (a generated header lists them), so that the function is not compiled again in each
/// of its files. The function must not be noexcept, because nvcc would not find the specialisation then.
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

/// Calls `Function(args...)`. In a constant expression the compiler evaluates it; otherwise the one copy is called. The
/// builtin is used because g++ 12 keeps both branches of std::is_constant_evaluated until late, and compiles what they
/// need.
template <auto Function, class... Args>
constexpr decltype(auto) linked(Args&&... args) {
  if (__builtin_is_constant_evaluated()) return Function(std::forward<Args>(args)...);
  return linked_function<Function>::run(std::forward<Args>(args)...);
}

}  // namespace tokamax
