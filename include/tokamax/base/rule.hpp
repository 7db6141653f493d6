// tokamax/base/rule.hpp: pointers to functions, made of functions or of lambdas without captures.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>

#include <cstddef>      // nullptr_t
#include <type_traits>  // is_empty_v

namespace tokamax {

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 14
namespace detail {
template <class Signature>
class called_by_name;

// A lambda without captures converts to a pointer to a function. g++ 14 refuses to call that pointer in a constant
// expression if the result has a destructor ("dereferencing a null pointer"). The pointer here is to an ordinary function,
// which makes the lambda again and calls it.
template <class R, class... Args>
class called_by_name<R(Args...)> {
 public:
  constexpr called_by_name(std::nullptr_t = nullptr) {}
  constexpr called_by_name(R (*function)(Args...)) : function_(function) {}
  template <class Lambda>
    requires std::is_empty_v<Lambda>
  constexpr called_by_name(Lambda) : function_(&call<Lambda>) {}

  using pointer = R (*)(Args...);
  constexpr operator pointer() const { return function_; }

 private:
  template <class Lambda>
  static constexpr R call(Args... args) {
    return Lambda{}(static_cast<Args>(args)...);
  }

  R (*function_)(Args...) = nullptr;
};
}  // namespace detail

/// A pointer to a function of this signature, which may be called in constant expressions.
template <class Signature>
using rule = detail::called_by_name<Signature>;
#else
template <class Signature>
using rule = Signature*;
#endif

}  // namespace tokamax
