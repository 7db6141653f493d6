// tokamax/runtime/compiled.hpp: a function of arrays whose type names its arguments and result only, for headers.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (headers include it alone)
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <memory>       // shared_ptr, make_shared
#include <type_traits>  // is_invocable_r_v
#include <utility>      // forward

namespace tokamax {

/// A jitted function whose code is in another file. A header declares it, and one .cpp file includes the library of kernels:
///
///   struct service {                                                          // service.hpp
///     tk::compiled<tk::array(const model&, const tk::array&)> predict;
///   };
///   service::service() : predict(tk::jit(forward, tk::cpu)) {}                // service.cpp
///
/// A parameter `T&&` takes arguments that are moved in, which give their buffers to results. Copies share the function, and several
/// threads may call it. Any other function will do, too.
///
/// errors  tokamax::error "compiled: function" for a call of an empty one
/// source  std::move_only_function, which C++20 lacks, but copies are cheap here
template <class Signature>
class compiled;

template <class Result, class... Args>
class compiled<Result(Args...)> {
 public:
  compiled() = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, compiled> && std::is_invocable_r_v<Result, const F&, Args...>)
  compiled(F f) : held_(std::make_shared<holder<F>>(std::move(f))) {}  // NOLINT: a function is one

  Result operator()(Args... args) const {
    if (!held_) throw error("compiled: function", "none", "a function: assign jit(f, device)");
    return held_->call(std::forward<Args>(args)...);
  }
  explicit operator bool() const { return held_ != nullptr; }

 private:
  struct callee {
    virtual ~callee() = default;
    virtual Result call(Args... args) const = 0;
  };
  template <class F>
  struct holder final : callee {
    F f;
    explicit holder(F given) : f(std::move(given)) {}
    Result call(Args... args) const override { return f(std::forward<Args>(args)...); }
  };
  std::shared_ptr<const callee> held_;
};

}  // namespace tokamax
